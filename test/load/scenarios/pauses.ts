/**
 * How long the service stands still when a process of a stage joins, is told to stop, or is killed: small jobs are queued all the
 * time, and the longest time in which none ended is the pause.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createGenerator } from '../../../api/cli/load/generate.ts';
import { collections, type JobDocument } from '../../../schemas/documents.ts';
import { type StageName, stageNames } from '../../../schemas/stages.ts';
import type { Bench } from '../bench-stack.ts';
import { type CountCheck, checkCount } from '../check-counts.ts';
import { seconds } from '../format.ts';
import { readPipelineMetrics } from '../observe-pipeline.ts';
import { percentiles } from '../percentiles.ts';
import { type StageProcess, startStages, stopAll } from '../stage-processes.ts';
import { atMost, type Benchmark } from '../table.ts';
import { uploadFile } from '../upload.ts';

const ROWS = 200;
const PATH = 'small.csv';
const everyMs = 100;
/** After an event, until everything goes on as before. */
const SETTLED_MS = 4_000;
/** The broker notices a death after the session timeout, 10 s. */
const EXPELLED_MS = 16_000;

const events = ['join', 'stop', 'kill'] as const;
type Event = (typeof events)[number];

/** Queues a job every tenth of a second. */
function trickle({ stack, signal }: Bench) {
  let stopped = false;
  const ids: number[] = [];
  const queueing = (async () => {
    while (!stopped) {
      ids.push(await stack.calls.queue('b', PATH));
      await sleep(everyMs, undefined, { signal });
    }
  })();
  return async () => {
    stopped = true;
    await queueing;
    await stack.calls.untilDone('b', ids.at(-1)!, { everyMs, signal });
    return ids.length;
  };
}

/** The longest time without an end of a job, in seconds. */
async function longestPause({ stack }: Bench, from: number, to: number): Promise<number> {
  const ended = await stack.db
    .collection<JobDocument>(collections.jobs)
    .find({ phase: 'ended', updatedAt: { $gte: new Date(from), $lte: new Date(to) } })
    .sort({ _id: 1 })
    .project<{ updatedAt: Date }>({ updatedAt: 1 })
    .toArray();
  const times = [from, ...ended.map(({ updatedAt }) => updatedAt.getTime()), to];
  return Math.max(...times.slice(1).map((time, i) => time - times[i]!)) / 1_000;
}

async function pauseOf(bench: Bench, forMs: number, event: () => Promise<unknown>): Promise<number> {
  const from = Date.now();
  await event();
  await sleep(forMs, undefined, { signal: bench.signal });
  return longestPause(bench, from, Date.now());
}

/** The one that has most partitions of the stage: another one may only stand by. */
async function busiest(processes: readonly StageProcess[], stage: StageName): Promise<StageProcess> {
  const partitions = await Promise.all(
    processes.map(async ({ url }) => {
      const metrics = await readPipelineMetrics(`${url}/metrics`);
      return metrics.get(`headrace_partitions_assigned{stage="${stage}"}`) ?? 0;
    }),
  );
  return processes[partitions.indexOf(Math.max(...partitions))]!;
}

async function measureStage(bench: Bench, stage: StageName, running: Set<StageProcess>) {
  const join = async () => void running.add(await startStages(bench, [stage]));
  const leave = async (how: 'stop' | 'kill') => {
    const own = [...running].filter(({ stages }) => stages.includes(stage));
    const one = await busiest(own, stage);
    running.delete(one);
    return pauseOf(bench, how === 'kill' ? EXPELLED_MS : SETTLED_MS, () => one[how]());
  };
  const pauses: Record<Event, number> = {
    join: await pauseOf(bench, SETTLED_MS, join),
    stop: await leave('stop'),
    kill: 0,
  };
  await pauseOf(bench, SETTLED_MS, join);
  pauses.kill = await leave('kill');
  const said = events.map((event) => `${event} ${seconds(pauses[event])}`).join(', ');
  bench.progress.step(`${stage}: ${said}`);
  return pauses;
}

async function measureAll(bench: Bench, seed: number) {
  const { stack, signal } = bench;
  const generator = createGenerator({ seed, duplicates: 0, keys: ['visit'] });
  await uploadFile(stack.partner, PATH, generator.nextFile({ rows: ROWS }).bytes);
  await stack.stopPipeline();
  const running = new Set(await Promise.all(stageNames.map((stage) => startStages(bench, [stage]))));
  try {
    await stack.calls.load('b', PATH, false, { everyMs, signal });
    const end = trickle(bench);
    const undisturbed = await pauseOf(bench, SETTLED_MS, async () => {});
    bench.progress.step(`undisturbed: ${seconds(undisturbed)}`);
    const pauses: [StageName, Record<Event, number>][] = [];
    for (const stage of stageNames) pauses.push([stage, await measureStage(bench, stage, running)]);
    const jobs = await end();
    const done = await stack.db.collection(collections.jobs).countDocuments({ status: 2 });
    const checks: CountCheck[] = [checkCount('jobs done', jobs + 1, done)];
    return { undisturbed, pauses: Object.fromEntries(pauses), checks };
  } finally {
    await stopAll([...running]);
  }
}

/** Seconds. A death shows after the session timeout. */
const bars: Record<Event, number> = { join: 3, stop: 3, kill: 14 };
const words: Record<Event, string> = { join: 'joins', stop: 'is told to stop', kill: 'is killed' };

export const pauses: Benchmark = {
  name: 'pauses',
  async measure({ runOn, seed }) {
    const {
      undisturbed,
      pauses: byStage,
      checks,
    } = await runOn('pauses', (bench) => measureAll(bench, seed));
    const rows = events.map((event) => {
      const found = stageNames.map((stage) => byStage[stage]![event]);
      const full = stageNames.map((stage, i) => `${stage} ${seconds(found[i]!)}`).join(', ');
      const what = `longest time without the end of a job, of ten a second: undisturbed; when a process ${words[event]}`;
      return atMost({ what, small: seconds(undisturbed), full }, percentiles(found).max, bars[event], 's');
    });
    return { rows, checks, details: { undisturbed, byStage } };
  },
};
