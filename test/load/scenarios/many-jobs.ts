/**
 * Many small loads: as many at once as there are concurrent requests, or one at a time on an idle service. Each file holds one key,
 * like a partner's export per segment.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createGenerator, type Generator } from '../../../deploy/cli/load/generate.ts';
import type { Bench } from '../bench-stack.ts';
import { type CountCheck, checkAttributes, checkAudience, checkImport } from '../check-counts.ts';
import { fillHistory } from '../fill-history.ts';
import { inParallel } from '../in-parallel.ts';
import type { Layout, LoadRecord } from '../partner-calls.ts';
import { type Percentiles, percentiles } from '../rounds.ts';
import { createUploader, fileName } from '../upload.ts';
import { type RunUse, watchRun } from '../watch-run.ts';
import { keysOf } from './one-prefix.ts';

const IN_FLIGHT = 16;
/** The resolution of the latencies; they are rounded up. */
const pollEveryMs = 20;
/** Pause between two loads, so that each finds the service idle. */
const idlePauseMs = 100;

interface JobsOptions {
  readonly jobs: number;
  readonly idleJobs: number;
  /** Jobs that have ended before. */
  readonly history?: number;
  /** Per job. */
  readonly rows: number;
  readonly duplicates: number;
  readonly layout: Layout;
  readonly keys: number;
  readonly gzip: boolean;
  readonly seed: number;
}

export interface JobsResult {
  readonly options: JobsOptions;
  /** Results of the concurrent jobs; null if there were none. */
  readonly together: {
    readonly seconds: number;
    readonly jobsPerSecond: number;
    /** From the POST's first byte to the record's updated_at, in milliseconds; both clocks are this machine's. */
    readonly latency: Percentiles;
    /** When each job ended, in seconds after the first POST, sorted. */
    readonly endedAt: number[];
    readonly use: RunUse;
  } | null;
  /** From POST to the first GET that says done, in milliseconds; null if there were none. */
  readonly idleLatency: Percentiles | null;
  readonly checks: CountCheck[];
}

interface SmallFile {
  readonly path: string;
  readonly rows: number;
  readonly devices: number;
}

async function uploadFiles(bench: Bench, generator: Generator, options: JobsOptions): Promise<SmallFile[]> {
  const uploader = createUploader(bench.stack.partner);
  const files: SmallFile[] = [];
  const first = options.history ? 1 : 0;
  await inParallel(first + options.idleJobs + options.jobs, IN_FLIGHT, async (number) => {
    bench.signal.throwIfAborted();
    const { bytes, rows, newDevices } = generator.nextFile({
      rows: options.rows,
      onlyKey: number % options.keys,
    });
    // One folder each: a path that is a prefix of another would load both.
    const path = `jobs/${number}/${fileName(number, options.gzip)}`;
    files[number] = { path, rows, devices: newDevices };
    await uploader.put(path, bytes);
    bench.progress.live(`uploaded ${number} files`);
  });
  uploader.close();
  bench.progress.step(`uploaded ${files.length} files of ${options.rows} rows`);
  return files;
}

/** Dispatch reads all jobs of the history before the first new one. */
async function passHistory(
  bench: Bench,
  ended: number,
  file: SmallFile,
  options: JobsOptions,
): Promise<void> {
  const { stack, signal, progress } = bench;
  await fillHistory(stack.db, stack.partner.partner_id, ended);
  progress.step(`stored ${ended} ended jobs`);
  await stack.calls.load(options.layout, file.path, options.gzip, { everyMs: pollEveryMs, signal });
  progress.step('the first job after them is done');
}

const checkLoad = (layout: Layout, record: LoadRecord, { rows, devices }: SmallFile) =>
  (layout === 'a' ? checkImport : checkAudience)(record, rows, devices);

async function measureIdle(bench: Bench, options: JobsOptions, files: SmallFile[], checks: CountCheck[]) {
  const { stack, signal, progress } = bench;
  const latencies: number[] = [];
  for (const file of files) {
    await sleep(idlePauseMs, undefined, { signal });
    const wait = { everyMs: pollEveryMs, signal };
    const { record, seconds } = await stack.calls.load(options.layout, file.path, options.gzip, wait);
    latencies.push(seconds * 1_000);
    checks.push(...checkLoad(options.layout, record, file));
    progress.live(`idle service: ${latencies.length} of ${files.length} jobs`);
  }
  const found = percentiles(latencies);
  progress.step(`one job at a time: p50 ${found.p50.toFixed(0)} ms`);
  return found;
}

async function measureTogether(bench: Bench, options: JobsOptions, files: SmallFile[], checks: CountCheck[]) {
  const { stack, signal, progress } = bench;
  const { layout, gzip } = options;
  const ids: number[] = [];
  const postedAt: number[] = [];
  const { result: seconds, use } = await watchRun(bench, async () => {
    const since = performance.now();
    await inParallel(files.length, IN_FLIGHT, async (number) => {
      postedAt[number] = Date.now();
      ids[number] = await stack.calls.queue(layout, files[number]!.path, gzip);
      progress.live(`${number} jobs queued`);
    });
    progress.step(`queued ${files.length} jobs in ${((performance.now() - since) / 1_000).toFixed(2)} s`);
    // Jobs end in the order in which they were accepted, so the last one's end is the end of all.
    await stack.calls.untilDone(layout, Math.max(...ids), { everyMs: pollEveryMs, signal });
    return (performance.now() - since) / 1_000;
  });
  const jobsPerSecond = files.length / seconds;
  progress.step(`all done after ${seconds.toFixed(2)} s: ${jobsPerSecond.toFixed(1)} jobs/s`);

  const latencies: number[] = [];
  const endedAt: number[] = [];
  const firstPost = Math.min(...postedAt);
  await inParallel(files.length, IN_FLIGHT, async (number) => {
    const record = await stack.calls.untilDone(layout, ids[number]!, { everyMs: pollEveryMs, signal });
    const ended = Date.parse(String(record.updated_at));
    latencies.push(ended - postedAt[number]!);
    endedAt.push((ended - firstPost) / 1_000);
    checks.push(...checkLoad(layout, record, files[number]!));
    progress.live(`${latencies.length} jobs checked`);
  });
  endedAt.sort((a, b) => a - b);
  return { seconds, jobsPerSecond, latency: percentiles(latencies), endedAt, use };
}

export async function measureJobs(bench: Bench, options: JobsOptions): Promise<JobsResult> {
  const keys = await keysOf(bench, options.layout, options.keys);
  const generator = createGenerator({ seed: options.seed, duplicates: options.duplicates, keys });
  const files = await uploadFiles(bench, generator, options);
  const checks: CountCheck[] = [];
  const rest = [...files];
  if (options.history) await passHistory(bench, options.history, rest.shift()!, options);
  const idle = rest.splice(0, options.idleJobs);
  const idleLatency = idle.length > 0 ? await measureIdle(bench, options, idle, checks) : null;
  const together = rest.length > 0 ? await measureTogether(bench, options, rest, checks) : null;
  if (options.layout === 'a')
    checks.push(...(await checkAttributes(bench.stack.db, keys, generator.counts())));
  return { options, together, idleLatency, checks };
}
