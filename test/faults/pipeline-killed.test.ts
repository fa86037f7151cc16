/**
 * kill -9 of the pipeline before and after each write, produce and offset commit of every stage, one process after the other: each
 * takes up what the one before it left, and dies at the next point. A point of each stage a round; FAULT_POINTS=all takes them
 * all, or FAULT_POINTS=sink:before-ack,… those.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type FaultPoint, faultPoints } from '../../pipeline/runtime/fault-points.ts';
import { collections } from '../../schemas/documents.ts';
import type { Driver } from '../support/driver.ts';
import { servers, waitFor } from '../support/stack.ts';
import { connectDriver } from './support/connect.ts';
import { expelAll } from './support/expel.ts';
import { createLane, type Lane } from './support/lane.ts';
import { newLogFolder } from './support/logs.ts';
import { orderAt, pointsOf } from './support/points.ts';
import { type Managed, manage, settingsFor } from './support/processes.ts';
import { roundSeed } from './support/random.ts';
import { removeRecords } from './support/remove-records.ts';
import { END_MS, unfinished, untilAllEnded, violationsOf } from './support/settle.ts';
import { submitByDriver } from './support/submit.ts';

const random = roundSeed('pipeline-killed');
const { api: _, ...stages } = faultPoints;
/** A message is given up only after several failures: poisoned-job.test.ts. */
const reachable = Object.values(stages).map((of) => of.filter((point) => !/give-up/.test(point)));
const points = pointsOf(reachable.flat(), () => reachable.map((of) => random.pick<FaultPoint>(of)));
/** Some eight jobs a point pile up; how fast the last process gets through them is the machine's business. */
const settleMs = END_MS + points.length * 15_000;

let driver: Driver;
let pipeline: Managed;
let lane: Lane;
beforeAll(async () => {
  // Little memory, a narrow window and short pages: jobs of a few files spill devices, publish files in turns, list in pages.
  const settings = settingsFor(servers(), {
    HEADRACE_SINK_MEMORY_MB: '1',
    HEADRACE_FILE_WINDOW: '2',
    HEADRACE_LIST_PAGE: '2',
  });
  driver = await connectDriver(settings);
  pipeline = await manage('pipeline', settings, newLogFolder());
  lane = await createLane(driver, submitByDriver(driver), random.fork());
});
afterAll(async () => {
  await pipeline?.kill();
  await driver?.close();
});

/** Something of every kind, so that every point is reached. */
async function queueSome(point: FaultPoint): Promise<void> {
  const size = /spill|progress/.test(point) ? 60_000 : 2_000;
  const folder = `round-${lane.asked.length}/`;
  const path = await lane.upload('attributes', size, folder);
  await lane.upload('attributes', 200, folder);
  await lane.upload('attributes', 300, folder);
  await lane.upload('attributes', 400, folder);
  await lane.ask({ kind: 'import', path, compressed: null, own: true });
  await lane.ask({ kind: 'import', path: folder, compressed: false, own: false });
  const { id } = await lane.ask({ kind: 'create', path: await lane.upload('audience', size) });
  await lane.ask({ kind: 'append', audience: id!, path: await lane.upload('audience', 3_000) });
  await lane.ask({ kind: 'delete', attributes: [lane.attributes[0]!, lane.attributes[1]!] });
  const cleared = await lane.ask({ kind: 'create', path: await lane.upload('audience', 20_000) });
  await lane.ask({ kind: 'clear', audience: cleared.id! });
  await lane.ask({ kind: 'append', audience: cleared.id!, path: await lane.upload('audience', 100) });
}

/** Steps taken only with jobs that waited already when the process started. */
const needsWaitingJobs = (point: FaultPoint) => /forget-lists|republish/.test(point);

async function start(point: FaultPoint): Promise<void> {
  if (needsWaitingJobs(point)) await queueSome(point);
  if (/republish/.test(point)) await removeRecords(driver.config, 'jobs');
  pipeline.start({ FAULT_POINT: orderAt(point, 'kill') });
  if (!needsWaitingJobs(point)) await queueSome(point);
}

/** What was loaded is counted once for each job, whoever died while counting. */
const totalOf = (collection: string, filter: object) =>
  driver.db
    .collection(collection)
    .aggregate([
      { $match: filter },
      { $group: { _id: null, bytes: { $sum: '$bytes' }, rows: { $sum: '$rows' } } },
    ])
    .toArray();

const open = () => driver.jobs.countDocuments(unfinished);

/** Were three processes in a row to die with the same message in hand, its job would be given up for it. */
async function drain(): Promise<void> {
  pipeline.start();
  await untilAllEnded(driver, settleMs);
  await pipeline.kill();
  await expelAll(driver.config);
}

it(`dies at ${points.length} points, and every job ends as the oracle says`, {
  timeout: 2_700_000 + 2 * settleMs + points.length * 180_000,
}, async () => {
  const missed: FaultPoint[] = [];
  let deathsInRow = 0;
  for (const point of points) {
    const began = performance.now();
    await start(point);
    await waitFor(async () => !pipeline.running || (await open()) === 0, {
      what: `a death at ${point}`,
      deadlineMs: settleMs,
    });
    // Offsets are committed up to half a second after a job's end, and a slow machine needs its time for that.
    await pipeline.gone(60_000).catch(() => missed.push(point));
    await pipeline.kill();
    await expelAll(driver.config);
    deathsInRow++;
    const mayBlame = /^(split|validate):/.test(point) || deathsInRow === 2;
    if (mayBlame && point !== points.at(-1)) {
      await drain();
      deathsInRow = 0;
    }
    if (process.env.FAULT_POINTS) console.info(`${point}: ${Math.round(performance.now() - began)} ms`);
  }
  pipeline.start();
  await untilAllEnded(driver, settleMs);
  // A dispatcher that starts sweeps first: what the dead left behind is gone without the wait for its next turn.
  expect(await pipeline.stop()).toBe(0);
  pipeline.start();
  expect(await violationsOf(driver, [lane], { deadlineMs: settleMs })).toEqual([]);
  expect(await totalOf(collections.usage, {})).toEqual(
    await totalOf(collections.jobs, { phase: 'ended', kind: { $ne: 'delete' } }),
  );
  expect(missed, 'points that were not reached').toEqual([]);
});
