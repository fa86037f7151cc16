/** One prefix of several files, submitted once and followed to its end. */

import { createGenerator, type GeneratedCounts } from '../../../deploy/cli/load/generate.ts';
import { BASELINE_ROWS, type Baseline, measureBaseline } from '../baseline.ts';
import type { Bench } from '../bench-stack.ts';
import {
  type CountCheck,
  checkAttributes,
  checkAudience,
  checkImport,
  checkReport,
} from '../check-counts.ts';
import { deviceBytes } from '../observe-storage.ts';
import type { Layout, TimedLoad } from '../partner-calls.ts';
import { uploadPrefix } from '../upload.ts';
import { type RunUse, watchRun } from '../watch-run.ts';

/** Each poll costs the two cores some milliseconds; late polls only overstate the duration. */
const pollEveryMs = 100;

export interface PrefixOptions {
  readonly rows: number;
  readonly files: number;
  readonly duplicates: number;
  readonly layout: Layout;
  /** Attributes of layout a, events of layout b. */
  readonly keys: number;
  readonly gzip: boolean;
  readonly seed: number;
  readonly baseline: boolean;
}

export interface PrefixResult {
  readonly options: PrefixOptions;
  readonly fileBytes: number;
  readonly seconds: number;
  readonly rowsPerSecond: number;
  readonly checks: CountCheck[];
  readonly use: RunUse;
  readonly devices: number;
  /** In MongoDB, with indexes. */
  readonly bytesPerDevice: number;
  readonly baseline: Baseline | null;
  /** Rows/s relative to the baseline. */
  readonly ratio: number | null;
}

export async function keysOf({ stack }: Bench, layout: Layout, count: number): Promise<string[]> {
  if (layout === 'a') return (await stack.attributes(count)).map(String);
  return Array.from({ length: count }, (_, i) => `event-${i + 1}`);
}

async function checkPrefix(
  { stack: { db, calls }, signal }: Bench,
  layout: Layout,
  keys: readonly string[],
  counts: GeneratedCounts,
  { id, record }: TimedLoad,
): Promise<CountCheck[]> {
  const { rows, devices } = counts;
  if (layout === 'a')
    return [...checkImport(record, rows, devices), ...(await checkAttributes(db, keys, counts))];
  const { report } = await calls.compose(id, { everyMs: pollEveryMs, signal });
  return [...checkAudience(record, rows, devices), ...checkReport(report, keys, counts)];
}

/** The same seed generates the same first rows. */
async function baselineOf(
  { stack, progress }: Bench,
  { rows, seed, duplicates }: PrefixOptions,
  keys: readonly string[],
): Promise<Baseline> {
  const sample = createGenerator({ seed, duplicates, keys }).nextFile({
    rows: Math.min(rows, BASELINE_ROWS),
  });
  const baseline = await measureBaseline(stack.db, sample.bytes, (written) =>
    progress.live(`baseline: ${written} of ${sample.rows} rows`),
  );
  progress.step(
    `baseline: ${baseline.rows} rows in ${baseline.seconds.toFixed(2)} s: ${Math.round(baseline.rowsPerSecond)} rows/s`,
  );
  return baseline;
}

export async function measurePrefix(bench: Bench, options: PrefixOptions): Promise<PrefixResult> {
  const { stack, progress, signal } = bench;
  const { rows, files, layout, gzip, seed, duplicates } = options;
  const keys = await keysOf(bench, layout, options.keys);
  const generator = createGenerator({ seed, duplicates, keys });
  const fileBytes = await uploadPrefix(bench, generator, { prefix: 'load/', rows, files, gzip });

  const { result: load, use } = await watchRun(
    bench,
    () => stack.calls.load(layout, 'load/', gzip, { everyMs: pollEveryMs, signal }),
    (read, seconds) =>
      `${seconds.toFixed(1)} s: ${((100 * read) / rows).toFixed(0)} % of the rows read, ${Math.round(read / seconds)} rows/s`,
  );
  const { seconds } = load;
  const rowsPerSecond = rows / seconds;
  progress.step(`done in ${seconds.toFixed(2)} s: ${Math.round(rowsPerSecond)} rows/s`);

  const checks = await checkPrefix(bench, layout, keys, generator.counts(), load);
  const { devices } = generator.counts();
  const bytesPerDevice = (await deviceBytes(stack.db)) / devices;
  const baseline = options.baseline ? await baselineOf(bench, options, keys) : null;
  const ratio = baseline && rowsPerSecond / baseline.rowsPerSecond;
  return {
    options,
    fileBytes,
    seconds,
    rowsPerSecond,
    checks,
    use,
    devices,
    bytesPerDevice,
    baseline,
    ratio,
  };
}
