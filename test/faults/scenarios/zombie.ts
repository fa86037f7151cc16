/**
 * A zombie: a process frozen in the middle of a write, past its session timeout, and woken after another has done its work and
 * more. Whatever it still tries to write is fenced. FAULT_POINTS=all freezes at every fault point. (rolling.ts: processes that join
 * and leave.)
 */
import { expect, it, onTestFinished } from 'vitest';
import { isFrozen, type Managed, manage } from '../../support/processes.ts';
import { ids } from '../../support/rows.ts';
import type { Settings } from '../../support/settings.ts';
import { waitFor } from '../../support/wait-for.ts';
import { expelAll } from '../support/expel.ts';
import type { FaultFixture } from '../support/fixture.ts';
import { newLogFolder } from '../support/logs.ts';
import { type FaultPoint, faultPoints, orderAt, pointsOf } from '../support/points.ts';
import type { Random } from '../support/random.ts';
import { untilAllEnded } from '../support/settle.ts';

const isBefore = (point: FaultPoint) =>
  /before-|after-(listing|freeze|decide$|devices)/.test(point) &&
  !/spill|cancel|republish|forget-lists|progress|give-up|-stop$|-drop$/.test(point);
const candidates = [
  ...faultPoints.sink,
  ...faultPoints.dispatch,
  ...faultPoints.validate,
  ...faultPoints.split,
].filter(isBefore);

export function zombie(faults: FaultFixture, random: Random): void {
  const points = pointsOf(candidates, () => [
    random.pick(candidates.filter((point) => point.startsWith('sink'))),
  ]);

  async function start(more: Settings = {}): Promise<Managed> {
    const pipeline = await manage('pipeline', faults.service.settings, { logs: newLogFolder() });
    onTestFinished(async () => {
      pipeline.signal('SIGCONT');
      await pipeline.kill();
    });
    pipeline.start(more);
    return pipeline;
  }

  async function queueSome(): Promise<void> {
    const { lane } = faults;
    const folder = `round-${lane.asked.length}/`;
    for (const size of [6_000, 300, 300]) await lane.upload('attributes', size, folder);
    await lane.ask({ kind: 'import', path: folder, compressed: false, own: false });
    const { id } = await lane.ask({ kind: 'create', path: await lane.upload('audience', 3_000) });
    await lane.ask({ kind: 'delete', attributes: [lane.attributes[0]!] });
    const identifiers = lane.devices(lane.asked.length * 100, 1_000);
    await lane.ask({ kind: 'privacy', type: 'delete', identifiers });
    // Privacy jobs of all partners are unordered with the others, so this one uses other devices.
    await faults.service.driver.privacy('delete', null, ids(30));
    await lane.ask({ kind: 'append', audience: id!, path: await lane.upload('audience', 500) });
  }

  it.each(
    points.map(
      (point, n) => [point, n === 0 ? 'its session runs out' : 'it is taken out of its groups'] as const,
    ),
  )('frozen at %s until %s: it wakes to find itself fenced', async (point, how) => {
    const { lane, service } = faults;
    const { driver } = service;
    await faults.killPipeline();
    const frozen = await start({ FAULT_POINT: orderAt(point, 'stop') });
    await queueSome();
    await waitFor(() => isFrozen(frozen), { what: `a halt at ${point}` });
    const heir = await start();
    if (how !== 'its session runs out') await expelAll(driver.config);
    await untilAllEnded(driver);
    // What the zombie is about to write is deleted, cleared and restored before it wakes up.
    for (const { request, id } of [...lane.asked])
      if (request.kind === 'create') await lane.ask({ kind: 'clear', audience: id! });
      else if (request.kind === 'privacy') await lane.ask({ ...request, type: 'restore' });
    await lane.ask({ kind: 'delete', attributes: [...lane.attributes] });
    await untilAllEnded(driver);
    // SIGCONT repeatedly: each of its threads stops at the fault point once.
    const waking = setInterval(() => frozen.signal('SIGCONT'), 100);
    onTestFinished(() => clearInterval(waking));
    await queueSome();
    await untilAllEnded(driver);
    expect(heir.running).toBe(true);
    await heir.stop();
    await queueSome();
    // Now the zombie has to do all the work. If it has exited, which is allowed, another process takes over.
    if (!frozen.running) await start();
    await untilAllEnded(driver);
  });
}
