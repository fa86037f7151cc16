/** One prefix of several files, submitted once, followed to its end. */
import { setNames } from '../../../schemas/documents.ts';
import { BASELINE_ROWS, type Baseline, measureBaseline } from '../baseline.ts';
import type { BenchStack } from '../bench-stack.ts';
import { type CountCheck, storedCounts } from '../check-counts.ts';
import { createGenerator, type GeneratedCounts, spread } from '../generate.ts';
import { type PipelineUse, watchPipeline } from '../observe-pipeline.ts';
import { type ProcessUse, watchProcesses } from '../observe-processes.ts';
import { flush, grown, type SetStorage, setStorage, topicBytes } from '../observe-storage.ts';
import type { Progress } from '../progress.ts';
import { type Layout, loadAndWait } from '../service-calls.ts';
import { createUploader } from '../upload.ts';

const pollEveryMs = 50;

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

export interface PrefixResult extends Omit<PrefixOptions, 'baseline'> {
  readonly fileBytes: number;
  readonly seconds: number;
  readonly rowsPerSecond: number;
  readonly checks: CountCheck[];
  readonly processes: Record<string, ProcessUse>;
  readonly pipeline: PipelineUse;
  readonly topicBytes: Record<string, number>;
  readonly storage: SetStorage;
  readonly baselineResult: Baseline | null;
  /** How many times the baseline's rows a second. */
  readonly ratio: number | null;
}

/** What the generated rows must become, whichever way they are asked for. */
async function checkCounts(
  { db }: BenchStack,
  layout: Layout,
  keys: readonly string[],
  counts: GeneratedCounts,
  load: { id: number; record: Record<string, unknown> },
): Promise<CountCheck[]> {
  const { rows, devices, devicesByKey } = counts;
  const stored = await storedCounts(db);
  const check = (what: string, expected: number, actual: unknown): CountCheck => ({
    what,
    expected,
    actual: Number(actual),
  });
  const storedSet = (set: string, expected: number) => check(`stored in ${set}`, expected, stored.get(set));
  if (layout === 'a') {
    return [
      check('total_rows', rows, load.record.total_rows),
      check('unique_devices', devices, load.record.unique_devices),
      ...keys.map((key, i) => storedSet(setNames.attribute(Number(key)), devicesByKey[i]!)),
    ];
  }
  const files = load.record.file as { rows_uploaded: number }[];
  const uploaded = files.reduce((sum, { rows_uploaded }) => sum + rows_uploaded, 0);
  // A new audience begins with generation 0 or 1, as the service likes; the sets' names tell which.
  const own = [...stored.keys()].find((set) => new RegExp(`^audience:${load.id}:g\\d+$`).test(set));
  const generation = Number(own?.split(':g')[1] ?? 0);
  return [
    check('uploaded_devices', rows, load.record.uploaded_devices),
    check('rows_uploaded of all files', rows, uploaded),
    check('unique_devices', devices, load.record.unique_devices),
    storedSet(setNames.audience(load.id, generation), devices),
    ...keys.map((key, i) => storedSet(setNames.event(load.id, generation, key), devicesByKey[i]!)),
  ];
}

export async function measurePrefix(
  stack: BenchStack,
  options: PrefixOptions,
  progress: Progress,
  signal: AbortSignal,
): Promise<PrefixResult> {
  const { rows, layout, gzip, seed, duplicates } = options;
  const keys =
    layout === 'a'
      ? (await stack.attributes(options.keys)).map(String)
      : Array.from({ length: options.keys }, (_, i) => `event-${i + 1}`);
  const generator = createGenerator({ seed, duplicates, keys });
  const uploader = createUploader(stack);
  let fileBytes = 0;
  for (const [number, count] of spread(rows, options.files).entries()) {
    signal.throwIfAborted();
    const { bytes } = generator.nextFile({ rows: count });
    progress.live(`uploading file ${number + 1} of ${options.files}`);
    fileBytes += await uploader.put(
      `load/part-${String(number).padStart(5, '0')}.csv${gzip ? '.gz' : ''}`,
      bytes,
    );
  }
  uploader.close();
  const counts = generator.counts();
  progress.step(`uploaded ${options.files} files, ${rows} rows, ${(fileBytes / 1e6).toFixed(1)} MB`);

  await flush(stack.db);
  const topicsBefore = topicBytes(stack.kafkaLogs, stack.config.topicPrefix);
  const since = performance.now();
  const seconds = () => (performance.now() - since) / 1_000;
  const pipelineWatch = await watchPipeline(stack.metricsUrl, (read) =>
    progress.live(
      `${seconds().toFixed(1)} s: ${((100 * read) / rows).toFixed(0)} % of the rows read, ${Math.round(read / seconds())} rows/s`,
    ),
  );
  const processWatch = watchProcesses({ ...stack.pids, bench: process.pid });
  const load = await loadAndWait(stack.client, layout, 'load/', { gzip, everyMs: pollEveryMs, signal });
  const processes = processWatch.stop();
  const pipeline = await pipelineWatch.stop();
  const took = (load.doneAt - load.postedAt) / 1_000;
  progress.step(`done in ${took.toFixed(2)} s: ${Math.round(rows / took)} rows/s`);

  const checks = await checkCounts(stack, layout, keys, counts, load);
  const topics = grown(topicsBefore, topicBytes(stack.kafkaLogs, stack.config.topicPrefix));
  const storage = await setStorage(stack.db);
  const baselineResult = options.baseline ? await baselineOf(stack, options, keys, progress) : null;
  const rowsPerSecond = rows / took;
  return {
    rows,
    files: options.files,
    duplicates,
    layout,
    keys: options.keys,
    gzip,
    seed,
    fileBytes,
    seconds: took,
    rowsPerSecond,
    checks,
    processes,
    pipeline,
    topicBytes: topics,
    storage,
    baselineResult,
    ratio: baselineResult && rowsPerSecond / baselineResult.rowsPerSecond,
  };
}

/** The same seed gives the same first rows again. */
async function baselineOf(
  { db }: BenchStack,
  { rows, seed, duplicates }: PrefixOptions,
  keys: readonly string[],
  progress: Progress,
): Promise<Baseline> {
  const sample = createGenerator({ seed, duplicates, keys }).nextFile({
    rows: Math.min(rows, BASELINE_ROWS),
  });
  const baseline = await measureBaseline(db, sample.bytes, (written) =>
    progress.live(`baseline: ${written} of ${sample.rows} rows`),
  );
  progress.step(
    `baseline: ${baseline.rows} rows in ${baseline.seconds.toFixed(2)} s: ${Math.round(baseline.rowsPerSecond)} rows/s`,
  );
  return baseline;
}
