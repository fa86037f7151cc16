/**
 * An API process freezes between its write and its response, and another process answers the repeated request: when the first wakes
 * up long after its time limit, it does not withdraw the job whose number was returned.
 */
import { expect, it } from 'vitest';
import { bigFile } from '../../support/rows.ts';
import { setNames } from '../../support/stored-sets.ts';
import { waitFor } from '../../support/wait-for.ts';
import type { FaultFixture } from '../support/fixture.ts';
import { freezeBy } from '../support/freeze.ts';
import { createCaller } from '../support/submit.ts';

export function apiFrozen(faults: FaultFixture): void {
  it('what another process has answered stays accepted', async () => {
    const { driver } = faults.service;
    const { pipelines, apis } = faults.service;
    const [frozen, other] = apis;
    await frozen!.stop();
    frozen!.start({ FAULT_POINT: 'api:after-insert:1:stop' });
    await frozen!.ready();
    const partner = await driver.partner();
    const attribute = await driver.attribute(partner);
    await driver.upload(partner, 'a.csv', bigFile(1_000, attribute));
    const call = await createCaller(driver, partner);
    const request = { kind: 'import', path: 'a.csv', compressed: null, own: false } as const;

    for (const pipeline of pipelines) pipeline.signal('SIGSTOP');
    const ask = () => call(frozen!.url, request, 'key');
    const { asked } = await freezeBy(frozen!, ask, 'the first process frozen after its write');
    const answer = await waitFor(
      async () => {
        const { status, text } = await call(other!.url, request, 'key');
        return status === 202 ? (JSON.parse(text) as { import_log_id: number }) : undefined;
      },
      { what: 'the answer of the other' },
    );
    frozen!.signal('SIGCONT');
    await asked;
    // It exits only after it has withdrawn whatever it would withdraw.
    expect(await frozen!.stop()).toBe(0);
    for (const pipeline of pipelines) pipeline.signal('SIGCONT');
    frozen!.start();
    await frozen!.ready();

    const ended = await waitFor(
      () => driver.jobs.findOne({ _id: answer.import_log_id, phase: { $in: ['ended', 'withdrawn'] } }),
      { what: 'the end of the job' },
    );
    expect(ended).toMatchObject({ phase: 'ended', status: 2, uniqueDevices: 1_000 });
    expect(await driver.jobs.countDocuments({ partner: partner._id })).toBe(1);
    expect(await driver.sets.count(setNames.attribute(attribute))).toBe(1_000);
  });
}
