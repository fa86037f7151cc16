/**
 * A process frozen in the middle of a write, past its session, and woken when another has done its work and more: whatever it still
 * tries to write changes nothing. FAULT_POINTS=all freezes at every point. (Processes that join and leave: rolling.test.ts.)
 */
import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { type FaultPoint, faultPoints } from '../../pipeline/runtime/fault-points.ts';
import type { Driver } from '../support/driver.ts';
import { servers, waitFor } from '../support/stack.ts';
import { connectDriver } from './support/connect.ts';
import { expelAll } from './support/expel.ts';
import { createLane, type Lane } from './support/lane.ts';
import { newLogFolder } from './support/logs.ts';
import { orderAt, pointsOf } from './support/points.ts';
import { type Managed, manage, type Settings, settingsFor } from './support/processes.ts';
import { roundSeed } from './support/random.ts';
import { untilAllEnded, violationsOf } from './support/settle.ts';
import { submitByDriver } from './support/submit.ts';

const random = roundSeed('zombie');
const isBefore = (point: FaultPoint) =>
  /before-|after-(listing|freeze|seal|devices)/.test(point) &&
  !/spill|cancel|republish|forget-lists|progress|give-up/.test(point);
const candidates = [
  ...faultPoints.sink,
  ...faultPoints.dispatch,
  ...faultPoints.validate,
  ...faultPoints.split,
].filter(isBefore);
const points = pointsOf(candidates, () => [
  random.pick(candidates.filter((point) => point.startsWith('sink'))),
]);

let settings: Settings;
let driver: Driver;
let lane: Lane;
let logs: string;
const started: Managed[] = [];
beforeEach(async () => {
  settings = settingsFor(servers(), { HEADRACE_FILE_WINDOW: '2' });
  driver = await connectDriver(settings);
  lane = await createLane(driver, submitByDriver(driver), random.fork());
  logs = newLogFolder();
});
afterEach(async () => {
  for (const one of started.splice(0)) {
    one.signal('SIGCONT');
    await one.kill();
  }
  await driver?.close();
});

async function start(more: Settings = {}): Promise<Managed> {
  const pipeline = await manage('pipeline', settings, logs);
  pipeline.start(more);
  started.push(pipeline);
  return pipeline;
}

const isFrozen = ({ pid }: Managed) => / T /.test(readFileSync(`/proc/${pid}/stat`, 'utf8').slice(0, 40));

async function queueSome(): Promise<void> {
  const folder = `round-${lane.asked.length}/`;
  for (const size of [6_000, 300, 300]) await lane.upload('attributes', size, folder);
  await lane.ask({ kind: 'import', path: folder, compressed: false, own: false });
  const { id } = await lane.ask({ kind: 'create', path: await lane.upload('audience', 3_000) });
  await lane.ask({ kind: 'delete', attributes: [lane.attributes[0]!] });
  await lane.ask({ kind: 'append', audience: id!, path: await lane.upload('audience', 500) });
}

it.each(
  points.map(
    (point, n) => [point, n === 0 ? 'its session runs out' : 'it is taken out of its groups'] as const,
  ),
)('frozen at %s until %s: it wakes to find itself fenced', async (point, how) => {
  const zombie = await start({ FAULT_POINT: orderAt(point, 'stop') });
  await queueSome();
  await waitFor(() => isFrozen(zombie), { what: `a halt at ${point}` });
  const heir = await start();
  if (how !== 'its session runs out') await expelAll(driver.config);
  await untilAllEnded(driver);
  // What the zombie is about to write is deleted and cleared before it wakes.
  for (const { request, id } of [...lane.asked])
    if (request.kind === 'create') await lane.ask({ kind: 'clear', audience: id! });
  await lane.ask({ kind: 'delete', attributes: [...lane.attributes] });
  await untilAllEnded(driver);
  // Again and again: each of its threads halts at the point once.
  const waking = setInterval(() => zombie.signal('SIGCONT'), 100);
  onTestFinished(() => clearInterval(waking));
  await queueSome();
  await untilAllEnded(driver);
  expect(heir.running).toBe(true);
  await heir.stop();
  await queueSome();
  // Alone, the zombie has to do all of it; and if it ended itself, as it may, somebody starts it again.
  if (!zombie.running) await start();
  expect(await violationsOf(driver, [lane])).toEqual([]);
});
