/** Every benchmark in one run: each load on a fresh service, each value compared with its target. */
import { wrongOnes } from '../check-counts.ts';
import { count } from '../format.ts';
import type { RunOn } from '../run-on-stack.ts';
import { measureAppend } from './append.ts';
import { measureComposition } from './composition.ts';
import { measureJobs } from './many-jobs.ts';
import { measurePrefix, type PrefixOptions, type PrefixResult } from './one-prefix.ts';

export interface TableRow {
  readonly what: string;
  readonly bar: string;
  readonly measured: string;
  readonly passed: boolean;
}

export interface TableResult {
  readonly rows: TableRow[];
  readonly results: Record<string, unknown>;
  /** For a chart each. */
  readonly loads: Record<string, PrefixResult>;
}

export interface TableOptions {
  readonly scale: number;
  readonly seed: number;
  /** Told as soon as it is known. */
  onRow(row: TableRow): void;
}

export async function measureTable(runOn: RunOn, { scale, seed, onRow }: TableOptions): Promise<TableResult> {
  const sized = (full: number) => Math.max(1, Math.round(full * scale));
  const results: Record<string, unknown> = {};
  const loads: Record<string, PrefixResult> = {};
  const rows: TableRow[] = [];
  const show = (what: string, bar: string, measured: string, passed: boolean) => {
    const row = { what, bar, measured, passed };
    rows.push(row);
    onRow(row);
  };

  /** Undefined when it failed; a wrong count is a failure, however fast it was. */
  async function attempt<T extends { checks: Parameters<typeof wrongOnes>[0] }>(
    name: string,
    what: string,
    measure: Parameters<typeof runOn<T>>[1],
  ): Promise<T | undefined> {
    try {
      const result = await runOn(name, measure);
      results[name] = result;
      const wrong = wrongOnes(result.checks);
      if (wrong.length === 0) return result;
      show(
        what,
        'every count right',
        `${wrong.length} of ${result.checks.length} wrong: ${wrong[0]!.what}`,
        false,
      );
    } catch (error) {
      if ((error as Error).name === 'AbortError') throw error;
      show(what, 'it ends', (error as Error).message.split('\n')[0]!, false);
    }
    return undefined;
  }

  async function load(name: string, what: string, options: Partial<PrefixOptions>) {
    const preset = {
      files: 8,
      duplicates: 0.2,
      layout: 'b',
      keys: 4,
      gzip: false,
      seed,
      baseline: true,
    } as const;
    const all = { ...preset, rows: sized(4_000_000), ...options };
    const result = await attempt(name, what, (bench) => measurePrefix(bench, all));
    if (result) loads[name] = result;
    return result;
  }

  async function against(name: string, what: string, atLeast: number, options: Partial<PrefixOptions>) {
    const result = await load(name, what, options);
    if (!result) return;
    const measured = `${result.ratio!.toFixed(1)} times (${count(result.rowsPerSecond)} against ${count(result.baseline!.rowsPerSecond)} rows/s)`;
    show(what, `≥ ${atLeast} times the baseline`, measured, result.ratio! >= atLeast);
  }

  const four = count(sized(4_000_000));
  await against('plain', `layout b, ${four} rows, 8 files, 20 % duplicates, plain`, 15, {});
  await against('gzip', 'the same, gzip', 12, { gzip: true });
  await against('attributes', `layout a, ${four} rows, 20 attributes, one prefix`, 12, {
    layout: 'a',
    keys: 20,
  });

  const [small, large] = [sized(2_000_000), sized(20_000_000)];
  const both = `${count(large)} rows against ${count(small)} rows`;
  const smaller = await load('smaller', both, { rows: small, baseline: false });
  const larger = await load('larger', both, { rows: large, baseline: false });
  if (smaller && larger) {
    const ratio = larger.rowsPerSecond / smaller.rowsPerSecond;
    const rates = `${count(larger.rowsPerSecond)} against ${count(smaller.rowsPerSecond)} rows/s`;
    show(both, 'rows/s ≥ 0.8 of the smaller run', `${ratio.toFixed(2)} (${rates})`, ratio >= 0.8);
  }

  const appending = `appending 10,000 rows to an audience of ${count(sized(10_000_000))}`;
  const append = await attempt('append', appending, (bench) =>
    measureAppend(bench, { devices: sized(10_000_000), appended: 10_000, files: 8, events: 4, seed }),
  );
  if (append) {
    const bar = '≤ 10 times the time of creating a new audience of 10,000';
    show(appending, bar, `${append.ratio.toFixed(2)} times`, append.ratio <= 10);
  }

  if (larger) {
    const { peakRssMb, highWaterMb } = larger.use.processes.pipeline!;
    const peak = Math.max(peakRssMb, highWaterMb);
    show(`peak RSS of the pipeline, ${count(large)} rows`, '≤ 700 MB', `${peak.toFixed(0)} MB`, peak <= 700);
  }

  const small1000 = `${count(sized(1_000))} jobs of 1,000 rows`;
  const jobs = await attempt('jobs', small1000, (bench) =>
    measureJobs(bench, {
      jobs: sized(1_000),
      idleJobs: 30,
      rows: 1_000,
      duplicates: 0.2,
      layout: 'a',
      keys: 20,
      gzip: false,
      seed,
    }),
  );
  if (jobs) {
    const { jobsPerSecond } = jobs.together!;
    show(small1000, '≥ 40 jobs/s', `${jobsPerSecond.toFixed(1)} jobs/s`, jobsPerSecond >= 40);
    const { p50 } = jobs.idleLatency!;
    show('one job of 1,000 rows on an idle service', 'p50 ≤ 400 ms', `p50 ${p50.toFixed(0)} ms`, p50 <= 400);
  }

  const bytes = Object.values(loads).map(({ storage }) => storage.bytesPerMembership);
  if (bytes.length > 0) {
    const most = Math.max(...bytes);
    const measured = `${most.toFixed(1)} bytes, the maximum of ${bytes.length} loads`;
    show('MongoDB storage', '≤ 24 bytes a stored membership', measured, most <= 24);
  }

  const [devices, each] = [sized(1_000_000), sized(100_000)];
  const composing = `composition report: ${count(devices)} devices against 200 attributes of ${count(each)}`;
  const composition = await attempt('composition', composing, (bench) =>
    measureComposition(bench, { devices, attributes: 200, attributeDevices: each, seed }),
  );
  if (composition) {
    const { medianSeconds, others } = composition;
    show(composing, '≤ 6 s', `${medianSeconds.toFixed(2)} s`, medianSeconds <= 6);
    const measured = `p99 ${others.p99.toFixed(0)} ms, max ${others.max.toFixed(0)} ms`;
    show('other requests during it', 'p99 ≤ 100 ms', measured, others.p99 <= 100);
  }
  return { rows, results, loads };
}

export function describeTable(rows: readonly TableRow[]): string[] {
  const lines = rows.map(
    ({ what, bar, measured, passed }) => `| ${what} | ${bar} | ${measured} | ${passed ? 'pass' : 'FAIL'} |`,
  );
  return ['| what | bar | measured | |', '|---|---|---|---|', ...lines];
}
