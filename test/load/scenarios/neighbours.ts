/**
 * Partner B's latency beside partner A: B's small audiences and imports, one after the other, on the idle service and during large
 * work of A; and how much A loses. Each situation has its own service, and results are compared within it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { startFaultyProxy } from '../../sources/faulty-proxy.ts';
import { prepareAnother, type SmallLoad } from '../another-partner.ts';
import type { Bench } from '../bench-stack.ts';
import type { CountCheck } from '../check-counts.ts';
import { seconds } from '../format.ts';
import type { Layout } from '../partner-calls.ts';
import { percentiles } from '../rounds.ts';
import { files, gzip, imports, rows } from '../situations/large-loads.ts';
import type { Setting, Situation } from '../situations/situation.ts';
import { stalled } from '../situations/stalled-storage.ts';
import { deletion, report } from '../situations/stored-data.ts';
import { atLeast, type Benchmark, type BenchmarkContext, type Measured, type TableRow } from '../table.ts';
import { measurePartners } from './many-partners.ts';

const situations: readonly Situation[] = [rows, imports, files, gzip, stalled, deletion, report];

const layouts: readonly Layout[] = ['b', 'a'];
const words: Record<Layout, string> = { a: 'import', b: 'audience' };
/** Audiences and imports of B, half of each. */
const WARM_UPS = 10;
const IDLE_LOADS = 100;
const LOADS_BESIDE = 100;
/** A repeats its work until B has finished its loads, at most this long. */
const MAX_SECONDS = 60;
/** Before each load of B, so that it finds the idle service idle, and so that A's job is ahead of B's first load. */
const pauseMs = 100;

/** With fewer loads the percentiles mean nothing, or B was starved. */
const MIN_LOADS = 10;

const MAX_P50 = 3;
const MAX_P99 = 8;
const MIN_SPEED = 0.85;
const MIN_SHARE = 0.5;

interface Result {
  readonly idle: readonly SmallLoad[];
  readonly beside: readonly SmallLoad[];
  /** Seconds of each run of A's work. */
  readonly alone: readonly number[];
  readonly together: readonly number[];
  readonly checks: readonly CountCheck[];
}

const once = () => true;

/** A works alone before and after, because a shared machine may be half as fast a minute later. */
async function measureBeside(situation: Situation, setting: Setting): Promise<Result> {
  const { bench } = setting;
  const work = await situation.prepare(setting);
  const another = await prepareAnother(bench, { layouts, pauseMs });
  const idleFor = (loads: number) =>
    another.during(async (ended) => {
      while (ended() < loads) await sleep(20, undefined, { signal: bench.signal });
    });
  const alone = async () => (situation.hasSpeed ? work.until(once) : []);

  const warmUp = await idleFor(WARM_UPS);
  const before = await alone();
  const { meanwhile: idle } = await idleFor(IDLE_LOADS);
  bench.progress.step(`B on the idle service: ${said(idle.loads, 'b')}; imports ${said(idle.loads, 'a')}`);
  const { result: together, meanwhile } = await another.during((ended) => {
    const until = performance.now() + MAX_SECONDS * 1_000;
    return work.until(() => ended() >= LOADS_BESIDE || performance.now() >= until);
  }, work.begun);
  const after = await alone();
  const checks = [warmUp.meanwhile, idle, meanwhile].flatMap((load) => load.checks);
  checks.push(...(await work.checks(another.importedDevices())));
  return { idle: idle.loads, beside: meanwhile.loads, alone: [...before, ...after], together, checks };
}

const millisecondsOf = (loads: readonly SmallLoad[], layout: Layout) =>
  loads.filter((load) => load.layout === layout).map((load) => load.seconds * 1_000);

function said(loads: readonly SmallLoad[], layout: Layout): string {
  const found = millisecondsOf(loads, layout);
  if (found.length === 0) return 'none';
  const { p50, p99 } = percentiles(found);
  return `p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms (${found.length})`;
}

function latencyRow(what: string, layout: Layout, { idle, beside }: Result): TableRow {
  const found = millisecondsOf(beside, layout);
  const [small, full] = [millisecondsOf(idle, layout), found].map(percentiles);
  const hasEnough = found.length >= MIN_LOADS;
  const p50 = full!.p50 / small!.p50;
  const p99 = full!.p99 / small!.p99;
  const ratios = `p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)} times`;
  return {
    what: `B’s ${words[layout]} of 1,000 rows: idle service; beside ${what}`,
    small: said(idle, layout),
    full: said(beside, layout),
    result: hasEnough ? ratios : `too few loads${found.length > 0 ? `: ${ratios}` : ''}`,
    bar: `p50 ≤ ${MAX_P50}, p99 ≤ ${MAX_P99} times`,
    passed: hasEnough && p50 <= MAX_P50 && p99 <= MAX_P99,
    isTarget: true,
  };
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

function speedRow(what: string, { alone, together }: Result): TableRow {
  const times = [alone, together].map(mean);
  const compared = {
    what: `A’s speed, ${what}: alone; beside B`,
    small: seconds(times[0]!),
    full: seconds(times[1]!),
  };
  return { ...atLeast(compared, times[0]! / times[1]!, MIN_SPEED), isTarget: true };
}

async function measureSituation(
  { runOn, seed }: BenchmarkContext,
  situation: Situation,
  size: number,
): Promise<Measured> {
  let storage = '';
  const ownStorage = await startFaultyProxy(() => storage);
  try {
    const measure = (bench: Bench) => {
      storage = bench.stack.config.s3Endpoint;
      return measureBeside(situation, { bench, size, seed, ownStorage });
    };
    const settings = { HEADRACE_PARTNER_S3_ENDPOINT: ownStorage.endpoint };
    const result = await runOn(`neighbours-${situation.name}`, measure, settings);
    const what = situation.describe(size);
    const ofA = situation.hasSpeed ? [speedRow(what, result)] : [];
    const ofB = layouts.map((layout) => latencyRow(what, layout, result));
    return { rows: [...ofB, ...ofA], checks: result.checks, details: result };
  } finally {
    await ownStorage.close();
  }
}

async function measureShares({ runOn, seed }: BenchmarkContext, partners: number): Promise<Measured> {
  const result = await runOn('neighbours-partners', (bench) => measurePartners(bench, partners, seed));
  const { jobsPerSecond, mean, smallest, checks } = result;
  const compared = {
    what: `${partners} partners with ten small jobs each (${jobsPerSecond.toFixed(0)} jobs/s): mean of a partner; the slowest`,
    small: `${mean.toFixed(2)} jobs/s`,
    full: `${smallest.toFixed(2)} jobs/s`,
  };
  const row = { ...atLeast(compared, smallest / mean, MIN_SHARE), isTarget: true };
  return { rows: [row], checks, details: result };
}

const partOf = (
  { name, size }: { name: string; size: number },
  measure: (context: BenchmarkContext, size: number) => Promise<Measured>,
): Benchmark => ({
  name: 'neighbours',
  part: name,
  measure: (context) => measure(context, context.sizes.get(name) ?? context.sized(size)),
});

export const neighbours: readonly Benchmark[] = [
  ...situations.map((situation) =>
    partOf(situation, (context, size) => measureSituation(context, situation, size)),
  ),
  partOf({ name: 'partners', size: 200 }, measureShares),
];
