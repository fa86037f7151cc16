/** The same load through one pipeline process, and through processes that run some of the stages each. */
import { createGenerator } from '../../../deploy/cli/load/generate.ts';
import { type StageName, stageNames } from '../../../schemas/stages.ts';
import type { Bench } from '../bench-stack.ts';
import { type CountCheck, checkAudience } from '../check-counts.ts';
import { count, seconds } from '../format.ts';
import { watchProcesses } from '../observe-processes.ts';
import { median } from '../rounds.ts';
import { startStages, stopAll } from '../stage-processes.ts';
import { atLeast, atMost, type Benchmark } from '../table.ts';
import { uploadPrefix } from '../upload.ts';
import { keysOf } from './one-prefix.ts';

/** The layouts alternate and are compared within a round, because a shared machine may be half as fast a minute later. */
const ROUNDS = 3;
/** Each thread JIT-compiles its own code, and with more threads each sees fewer rows of a load. */
const WARM_UPS = 3;
const pollEveryMs = 100;

const layouts = {
  together: [stageNames],
  apart: stageNames.map((stage) => [stage]),
  doubled: [['dispatch'], ['split'], ['validate'], ['validate'], ['sink'], ['sink']],
} as const satisfies Record<string, readonly (readonly StageName[])[]>;
type Layout = keyof typeof layouts;
const names = Object.keys(layouts) as Layout[];

interface Round {
  readonly rowsPerSecond: number;
  /** CPU seconds by process, including servers. */
  readonly cpu: Record<string, number>;
}

interface Load {
  readonly rows: number;
  readonly devices: number;
}

async function measureLayout(bench: Bench, layout: Layout, { rows, devices }: Load, checks: CountCheck[]) {
  const { stack, signal, progress } = bench;
  const processes = await Promise.all(layouts[layout].map((stages) => startStages(bench, stages)));
  try {
    const load = () => stack.calls.load('b', 'load/', false, { everyMs: pollEveryMs, signal });
    for (let i = 0; i < WARM_UPS; i++) await load();
    const ours = processes.map(({ stages, pid }, i) => [`${i + 1} ${stages.join('+')}`, pid]);
    const { pipeline: _, ...servers } = stack.pids;
    const watch = watchProcesses<string>({ ...Object.fromEntries(ours), ...servers });
    const { record, seconds: took } = await load();
    const used = Object.entries(watch.stop()).map(([name, use]) => [name, use.cpuSeconds]);
    checks.push(...checkAudience(record, rows, devices));
    const round: Round = { rowsPerSecond: rows / took, cpu: Object.fromEntries(used) };
    progress.step(`${layout}: ${count(round.rowsPerSecond)} rows/s, CPU ${describe(round.cpu)}`);
    return round;
  } finally {
    await stopAll(processes);
  }
}

const describe = (cpu: Round['cpu']) =>
  Object.entries(cpu)
    .map(([name, value]) => `${name} ${seconds(value)}`)
    .join(', ');

const isOurs = (name: string) => /^\d/.test(name);
const ourCpu = ({ cpu }: Round) =>
  Object.entries(cpu).reduce((sum, [name, value]) => sum + (isOurs(name) ? value : 0), 0);

async function measureAll(bench: Bench, rows: number, seed: number) {
  const keys = await keysOf(bench, 'b', 4);
  const generator = createGenerator({ seed, duplicates: 0.2, keys });
  await uploadPrefix(bench, generator, { prefix: 'load/', rows, files: 8, gzip: false });
  const load = { rows, devices: generator.counts().devices };
  await bench.stack.stopPipeline();
  const checks: CountCheck[] = [];
  const rounds: Record<Layout, Round>[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const measured: Partial<Record<Layout, Round>> = {};
    // Rotate the order, so that no layout is always first.
    for (let i = 0; i < names.length; i++) {
      const layout = names[(round + i) % names.length]!;
      measured[layout] = await measureLayout(bench, layout, load, checks);
    }
    rounds.push(measured as Record<Layout, Round>);
  }
  return { rounds, checks };
}

export const stages: Benchmark = {
  name: 'stages',
  async measure({ runOn, sized, seed }) {
    const { rounds, checks } = await runOn('stages', (bench) => measureAll(bench, sized(2_000_000), seed));
    const medianOf = (layout: Layout, value: (round: Round) => number) =>
      median(rounds.map((round) => value(round[layout])));
    const rateOf = ({ rowsPerSecond }: Round) => rowsPerSecond;
    const rate = (layout: Layout) => `${count(medianOf(layout, rateOf))} rows/s`;
    const cpu = (layout: Layout) => `${seconds(medianOf(layout, ourCpu))} of CPU`;
    const ratio = (layout: Layout, value: (round: Round) => number) =>
      median(rounds.map((round) => value(round[layout]) / value(round.together)));
    const compared = (layout: Layout, what: string) => [
      atLeast(
        { what: `audience of 2 M rows: one process; ${what}`, small: rate('together'), full: rate(layout) },
        ratio(layout, rateOf),
        0.95,
      ),
      atMost(
        { what: 'the same, CPU of these processes', small: cpu('together'), full: cpu(layout) },
        ratio(layout, ourCpu),
        1.25,
      ),
    ];
    return {
      rows: [
        ...compared('apart', 'one for each stage'),
        ...compared('doubled', 'one for dispatch and split, two for validate and sink'),
      ],
      checks,
      details: rounds,
    };
  },
};
