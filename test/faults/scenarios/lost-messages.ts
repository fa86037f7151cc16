/**
 * One message of each kind is lost, or all devices of a job are removed from their topic while it loads: the job loads again and
 * ends exactly; if its file is gone, too, it ends with status 3 and nothing of it is stored.
 */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { isFrozen } from '../../support/processes.ts';
import { asMembers, file, ids } from '../../support/rows.ts';
import { setNames } from '../../support/stored-sets.ts';
import { waitFor } from '../../support/wait-for.ts';
import type { FaultFixture } from '../support/fixture.ts';
import type { FaultPoint } from '../support/points.ts';
import { removeRecords } from '../support/remove-records.ts';

const ROWS = 3_000;
/** A short stall timeout: lost messages are detected soon. */
const soon = { HEADRACE_TEST_STALL_MS: '1000' };

export function lostMessages(faults: FaultFixture): void {
  async function startWith(...orders: string[]): Promise<void> {
    await faults.killPipeline();
    faults.pipeline.start({ ...soon, FAULT_POINT: orders.join(',') });
  }

  async function newAudience(path = 'a.csv') {
    const { driver } = faults.service;
    const partner = await driver.partner();
    const devices = ids(ROWS);
    await driver.upload(partner, path, file(devices, 'seen'));
    return { partner, devices, id: await driver.createAudience(partner, path) };
  }

  it('one message of each kind is lost: every job ends exactly', async () => {
    const { driver } = faults.service;
    const losses: [FaultPoint, number][] = [
      ['dispatch:before-publish-files', 2],
      ['split:before-send', 5],
      ['validate:before-devices', 8],
      ['validate:before-devices', 20],
      ['dispatch:before-prepare', 4],
      ['sink:before-vote', 5],
      ['dispatch:before-commit', 3],
    ];
    const orders = losses.map(([point, nth]) => `${point}:${nth}:skip`);
    await startWith(...orders);
    // One job at a time: the service recovers from each loss on its own.
    for (let n = 0; n < 8; n++) {
      const { id, devices } = await newAudience();
      expect(await driver.ended(id)).toMatchObject({ status: 2, uniqueDevices: ROWS });
      expect(await driver.members(setNames.audience(id, 1))).toEqual(asMembers(devices));
    }
    const log = readFileSync(faults.pipeline.log, 'utf8');
    expect(orders.filter((order) => !log.includes(`FAULT_POINT=${order}\n`))).toEqual([]);
  });

  /** The sink freezes once it has read all of a job. Removes the job's devices from the topic and kills the process that holds them. */
  async function loseDevices(id: number): Promise<void> {
    const { driver } = faults.service;
    await waitFor(() => isFrozen(faults.pipeline), { what: 'the sink to stop before its answer' });
    // Remove the rows, too: otherwise they are redelivered and yield the devices again.
    await removeRecords(driver.config, 'rows', 'devices');
    await faults.killPipeline();
    expect(await driver.jobs.findOne({ _id: id })).toMatchObject({ phase: 'listed' });
  }

  it('all rows and devices of a job removed from their topics: its files are dispatched again', async () => {
    const { driver } = faults.service;
    await startWith('sink:before-vote:1:stop');
    const { id, devices } = await newAudience();
    await loseDevices(id);
    faults.pipeline.start(soon);
    expect(await driver.ended(id)).toMatchObject({ status: 2, uniqueDevices: ROWS });
    expect(await driver.jobs.findOne({ _id: id })).toMatchObject({ attempt: 1 });
    expect(await driver.members(setNames.audience(id, 1))).toEqual(asMembers(devices));
  });

  it('and the file replaced meanwhile: the job ends with 3, and nothing of it is stored', async () => {
    const { driver } = faults.service;
    await startWith('sink:before-vote:1:stop');
    const { id, partner } = await newAudience();
    await loseDevices(id);
    await driver.upload(partner, 'a.csv', 'something else\n');
    faults.pipeline.start(soon);
    expect(await driver.ended(id)).toMatchObject({
      status: 3,
      errors: [{ code: 'changed' }],
      uniqueDevices: 0,
    });
    expect(await driver.members(setNames.audience(id, 1))).toEqual(new Set());
  });
}
