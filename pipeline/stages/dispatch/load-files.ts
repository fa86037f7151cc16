/**
 * Loads the files of jobs: dispatches them, a window of each job at a time, and decides each when the ledger is complete. Files
 * that make no progress are dispatched again: a message may have been lost. Split sends only what the ledger lacks.
 */
import { encode } from '../../../schemas/codec.ts';
import type { FileDocument, FileFailure, JobDocument } from '../../../schemas/documents.ts';
import type { Publisher } from '../../kafka/publish.ts';
import { faultPoint } from '../../runtime/fault-points.ts';
import type { Retry } from '../../runtime/retry.ts';
import type { DecidedFile, FileStore } from '../../stores/files.ts';
import type { JobStore } from '../../stores/jobs.ts';
import type { FileTally, LedgerStore } from '../../stores/ledger.ts';
import { judgeFile } from './judge-file.ts';

export interface LoadDependencies {
  retry: Retry;
  publisher: Publisher;
  jobs: JobStore;
  files: FileStore;
  ledger: LedgerStore;
  /** Why some of the jobs are not wanted any more. */
  cancelled(jobs: JobDocument[]): Promise<Map<number, FileFailure>>;
  fileWindow: number;
  filePartitions: number;
  maxInvalidShare: number;
  /** How long a job may make no progress before its files are dispatched again. */
  stallMs: number;
  onProgress(job: JobDocument, filesDone: number, rows: number): void;
  onStall(job: JobDocument, files: number): void;
}

interface LoadingJob {
  job: JobDocument;
  attempt: number;
  inFlight: Set<number>;
  nextFile: number;
  filesDone: number;
  rowsDone: number;
  reported: { at: number; rows: number };
  /** Batches and files seen so far, when that last changed, and how long it may stay so. */
  progress: { seen: string; at: number; patienceMs: number };
  decided: JudgedFile[] | null;
  paths: Map<number, string>;
  done(): void;
  fail(error: unknown): void;
}

/** What a job's outcome is added up from. */
export type JudgedFile = DecidedFile & { path: string };

const REPORT_MS = 500;
const MAX_PATIENCE_MS = 15 * 60_000;

export type FileLoader = ReturnType<typeof createLoadFiles>;

export function createLoadFiles(deps: LoadDependencies, signal: AbortSignal, wake: () => void) {
  const { retry, publisher, jobs, files, ledger } = deps;
  const loading = new Map<number, LoadingJob>();

  async function dispatchMore(entry: LoadingJob): Promise<void> {
    const room = deps.fileWindow - entry.inFlight.size;
    if (room < Math.min(deps.fileWindow, 1 + deps.fileWindow / 4) || entry.nextFile >= entry.job.fileCount)
      return;
    const listing = entry.job.listing!;
    const next = await retry(
      'find files to dispatch',
      () => files.undecided(listing, entry.attempt, entry.nextFile, room),
      signal,
    );
    if (next.length === 0) {
      entry.nextFile = entry.job.fileCount;
      return;
    }
    const waiting = next.filter(({ status }) => status === 0).map(({ number }) => number);
    if (waiting.length > 0) {
      faultPoint('dispatch:before-mark-running');
      await retry('mark files as running', () => files.markRunning(listing, waiting), signal);
    }
    await dispatch(entry, next);
    entry.nextFile = next.at(-1)!.number + 1;
  }

  async function dispatch(entry: LoadingJob, some: FileDocument[]): Promise<void> {
    const messages = some.map((file) => ({
      partition: (file.job + file.number) % deps.filePartitions,
      key: `${file.job}.${file.number}`,
      value: encodeFile(entry.job, file),
    }));
    if (faultPoint('dispatch:before-hand-out') !== 'skip')
      await retry('dispatch files', () => publisher.send('files', messages), signal);
    faultPoint('dispatch:after-hand-out');
    for (const { number } of some) entry.inFlight.add(number);
  }

  async function dispatchStalled(entry: LoadingJob, tallies: FileTally[]): Promise<void> {
    const { progress, inFlight, job, attempt } = entry;
    const seen = `${entry.filesDone} ${tallies.reduce((sum, { batches }) => sum + batches, 0)}`;
    const now = performance.now();
    if (seen !== progress.seen) {
      entry.progress = { seen, at: now, patienceMs: deps.stallMs };
      return;
    }
    if (inFlight.size === 0 || now - progress.at < progress.patienceMs) return;
    // What is merely slow is not made slower by this: the longer it takes, the rarer it is repeated.
    entry.progress = { seen, at: now, patienceMs: Math.min(MAX_PATIENCE_MS, 2 * progress.patienceMs) };
    const first = Math.min(...inFlight);
    const open = await retry(
      'find files to dispatch again',
      () => files.undecided(job.listing!, attempt, first, inFlight.size),
      signal,
    );
    const stalled = open.filter(({ number }) => inFlight.has(number));
    deps.onStall(job, stalled.length);
    await dispatch(entry, stalled);
  }

  /** A file that cannot be judged is the trouble of its job, and of no other. */
  async function judge(tally: FileTally): Promise<{ entry: LoadingJob; file: DecidedFile } | null> {
    const entry = loading.get(tally.job)!;
    try {
      const file = await retry('judge a file', () => judgeFile(tally, ledger, deps.maxInvalidShare), signal);
      return file && { entry, file };
    } catch (error) {
      signal.throwIfAborted();
      loading.delete(tally.job);
      entry.fail(error);
      return null;
    }
  }

  /** Decides what can be decided, for all jobs in one write. True if there was something. */
  async function decide(tallies: FileTally[]): Promise<boolean> {
    const open = tallies.filter(({ job, attempt, file }) => {
      const entry = loading.get(job);
      return entry?.attempt === attempt && entry.inFlight.has(file);
    });
    const decided = (await Promise.all(open.map(judge))).filter((one) => one !== null);
    if (decided.length > 0) faultPoint('dispatch:before-decide');
    const documents = decided.map(({ entry, file }) => ({
      ...file,
      listing: entry.job.listing!,
      attempt: entry.attempt,
    }));
    await retry('record what was decided', () => files.decide(documents), signal);
    if (decided.length > 0) faultPoint('dispatch:after-decide');
    for (const { entry, file } of decided) {
      entry.inFlight.delete(file.number);
      entry.filesDone++;
      entry.rowsDone += file.rows;
      entry.decided?.push({ ...file, path: entry.paths.get(file.number)! });
    }
    for (const entry of loading.values()) {
      const waiting = open.filter(({ job, file }) => job === entry.job._id && entry.inFlight.has(file));
      const rows = entry.rowsDone + waiting.reduce((sum, { rows }) => sum + rows, 0);
      if (entry.filesDone < entry.job.fileCount) await report(entry, rows);
      if (decided.some((one) => one.entry === entry)) await dispatchMore(entry);
      await dispatchStalled(entry, waiting);
    }
    return decided.length > 0;
  }

  async function report(entry: LoadingJob, rows: number): Promise<void> {
    if (rows === entry.reported.rows || performance.now() - entry.reported.at < REPORT_MS) return;
    entry.reported = { at: performance.now(), rows };
    await retry('write progress', () => jobs.progress(entry.job._id, entry.filesDone, rows), signal);
    deps.onProgress(entry.job, entry.filesDone, rows);
  }

  function finish(entry: LoadingJob): void {
    loading.delete(entry.job._id);
    entry.done();
  }

  async function cancelUnwanted(): Promise<boolean> {
    const cancelled = await retry(
      'look for cancelled jobs',
      () => deps.cancelled([...loading.values()].map(({ job }) => job)),
      signal,
    );
    for (const [id, failure] of cancelled) {
      const entry = loading.get(id);
      if (!entry) continue;
      faultPoint('dispatch:before-cancel');
      await retry('cancel files', () => files.cancelUndecided(entry.job.listing!, failure), signal);
      faultPoint('dispatch:after-cancel');
      finish(entry);
    }
    return cancelled.size > 0;
  }

  return {
    /**
     * Resolves when every file of the job is decided: with what was decided, if these are all files of a job just listed, else
     * with null, and MongoDB has it. `first` are the files of a job just listed.
     */
    async load(job: JobDocument, first: FileDocument[] | null): Promise<JudgedFile[] | null> {
      const attempt = job.attempt ?? 0;
      const before = first
        ? { files: 0, rows: 0 }
        : await retry('see what is decided', () => files.decidedOf(job.listing!, attempt), signal);
      const now = performance.now();
      return new Promise((resolve, reject) => {
        const entry: LoadingJob = {
          job,
          attempt,
          inFlight: new Set(),
          nextFile: 0,
          filesDone: before.files,
          rowsDone: before.rows,
          reported: { at: now, rows: before.rows },
          progress: { seen: '', at: now, patienceMs: deps.stallMs },
          decided: first?.length === job.fileCount ? [] : null,
          paths: new Map(first?.map(({ number, path }) => [number, path])),
          done: () => resolve(entry.decided?.length === job.fileCount ? entry.decided : null),
          fail: reject,
        };
        begin(entry, first).catch(reject);
      });
    },

    isNeeded: () => loading.size > 0,
    async look(): Promise<boolean> {
      if (loading.size === 0) return false;
      const cancelled = await cancelUnwanted();
      const wanted = [...loading.values()]
        .filter(({ inFlight }) => inFlight.size > 0)
        .map(({ job, attempt, inFlight }) => ({ job: job._id, attempt, fromFile: Math.min(...inFlight) }));
      const tallies = await retry('read the ledger', () => ledger.tally(wanted), signal);
      const changed = await decide(tallies);
      for (const entry of loading.values()) {
        if (entry.inFlight.size === 0 && entry.nextFile >= entry.job.fileCount) finish(entry);
      }
      return changed || cancelled;
    },
  };

  async function begin(entry: LoadingJob, first: FileDocument[] | null): Promise<void> {
    if (!first) await dispatchMore(entry);
    else if (first.length > 0) {
      await dispatch(entry, first);
      entry.nextFile = first.at(-1)!.number + 1;
    }
    loading.set(entry.job._id, entry);
    wake();
  }
}

function encodeFile(job: JobDocument, file: FileDocument): Buffer {
  return encode('ListedFile', {
    job: file.job,
    file: file.number,
    partner: job.partner,
    layout: job.kind === 'audience' ? 'audience' : 'attributes',
    path: file.path,
    etag: file.etag,
    size: file.size,
    compressed: file.compressed,
    batch_bytes: file.batchBytes,
    attempt: job.attempt ?? 0,
  });
}
