/**
 * How long jobs pause when a process of a stage joins, is stopped or is killed. Small jobs run one after the other, so that no
 * backlog hides the pause; they use all partitions in turn.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createGenerator } from '../../../deploy/cli/load/generate.ts';
import { type StageName, stageNames } from '../../../schemas/stages.ts';
import type { Bench } from '../bench-stack.ts';
import { type CountCheck, checkAudience } from '../check-counts.ts';
import { seconds } from '../format.ts';
import { readPipelineMetrics } from '../observe-pipeline.ts';
import { type StageProcess, startStages, stopAll } from '../stage-processes.ts';
import { atMost, type Benchmark } from '../table.ts';
import { uploadFile } from '../upload.ts';

const ROWS = 200;
const PATH = 'small.csv';
const everyMs = 20;
/** After an event, until throughput has recovered. */
const SETTLED_MS = 4_000;
/** The broker removes a killed member after the session timeout of 3.5 s. */
const EXPELLED_MS = 8_000;

const events = ['join', 'stop', 'kill'] as const;
type Event = (typeof events)[number];

/** Runs small jobs one after the other during the event and for a while after it. Returns the longest, in seconds. */
async function pauseOf(
  { stack, signal }: Bench,
  forMs: number,
  event: () => Promise<unknown>,
  checks: CountCheck[],
): Promise<number> {
  let isOver = false;
  const over = event()
    .then(() => sleep(forMs, undefined, { signal }))
    .finally(() => {
      isOver = true;
    });
  let longest = 0;
  while (!isOver) {
    const { record, seconds: took } = await stack.calls.load('b', PATH, false, { everyMs, signal });
    checks.push(...checkAudience(record, ROWS, ROWS));
    longest = Math.max(longest, took);
  }
  await over;
  return longest;
}

/** The process with the most partitions of the stage: others may have none. */
async function busiest(processes: readonly StageProcess[], stage: StageName): Promise<StageProcess> {
  const partitions = await Promise.all(
    processes.map(async ({ url }) => {
      const metrics = await readPipelineMetrics(`${url}/metrics`);
      return metrics.get(`headrace_partitions_assigned{stage="${stage}"}`) ?? 0;
    }),
  );
  return processes[partitions.indexOf(Math.max(...partitions))]!;
}

async function measureStage(
  bench: Bench,
  stage: StageName,
  running: Set<StageProcess>,
  checks: CountCheck[],
) {
  const join = async () => void running.add(await startStages(bench, [stage]));
  const leave = async (how: 'stop' | 'kill') => {
    const own = [...running].filter(({ stages }) => stages.includes(stage));
    const one = await busiest(own, stage);
    running.delete(one);
    return pauseOf(bench, how === 'kill' ? EXPELLED_MS : SETTLED_MS, () => one[how](), checks);
  };
  const pauses: Record<Event, number> = {
    join: await pauseOf(bench, SETTLED_MS, join, checks),
    stop: await leave('stop'),
    kill: 0,
  };
  await pauseOf(bench, SETTLED_MS, join, checks);
  pauses.kill = await leave('kill');
  const said = events.map((event) => `${event} ${seconds(pauses[event])}`).join(', ');
  bench.progress.step(`${stage}: ${said}`);
  return pauses;
}

async function measureAll(bench: Bench, seed: number) {
  const { stack } = bench;
  const generator = createGenerator({ seed, duplicates: 0, keys: ['visit'] });
  await uploadFile(stack.partner, PATH, generator.nextFile({ rows: ROWS }).bytes);
  await stack.stopPipeline();
  const running = new Set(await Promise.all(stageNames.map((stage) => startStages(bench, [stage]))));
  try {
    const checks: CountCheck[] = [];
    const idle = () => pauseOf(bench, SETTLED_MS, async () => {}, checks);
    await idle();
    const undisturbed = await idle();
    bench.progress.step(`undisturbed: ${seconds(undisturbed)}`);
    const byStage: Partial<Record<StageName, Record<Event, number>>> = {};
    for (const stage of stageNames) byStage[stage] = await measureStage(bench, stage, running, checks);
    return { undisturbed, byStage, checks };
  } finally {
    await stopAll([...running]);
  }
}

/** Max pause in seconds. A kill is noticed only after the session timeout. */
const bars: Record<Event, number> = { join: 3, stop: 3, kill: 5 };
const words: Record<Event, string> = { join: 'joins', stop: 'is told to stop', kill: 'is killed' };

export const pauses: Benchmark = {
  name: 'pauses',
  async measure({ runOn, seed }) {
    const { undisturbed, byStage, checks } = await runOn('pauses', (bench) => measureAll(bench, seed));
    const rows = events.map((event) => {
      const found = stageNames.map((stage) => byStage[stage]![event]);
      const full = stageNames.map((stage, i) => `${stage} ${seconds(found[i]!)}`).join(', ');
      const what = `the longest job of 200 rows, one after the other: undisturbed; when a process ${words[event]}`;
      return atMost({ what, small: seconds(undisturbed), full }, Math.max(...found), bars[event], 's');
    });
    return { rows, checks, details: { undisturbed, byStage } };
  },
};
