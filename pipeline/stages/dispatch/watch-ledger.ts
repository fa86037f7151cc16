/**
 * Watches the ledger for the jobs under way: hands out their files, a window at a time, decides each when the ledger is
 * complete, and sees when every slot has acknowledged. It asks MongoDB again and again, more seldom when nothing changes and
 * not at all when no job is under way; so it holds nothing that a successor would have to be told.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { encode } from '../../../schemas/codec.ts';
import type { FileDocument, JobDocument } from '../../../schemas/documents.ts';
import { SLOTS } from '../../../schemas/topics.ts';
import { faultPoint } from '../../runtime/fault-points.ts';
import type { Publisher } from '../../runtime/kafka.ts';
import type { Retry } from '../../runtime/retry.ts';
import type { AckStore } from '../../stores/acks.ts';
import type { DecidedFile, FileStore } from '../../stores/files.ts';
import type { JobStore } from '../../stores/jobs.ts';
import type { FileTally, LedgerStore } from '../../stores/ledger.ts';
import { judgeFile } from './judge-file.ts';

export interface WatchDependencies {
  retry: Retry;
  publisher: Publisher;
  jobs: JobStore;
  files: FileStore;
  ledger: LedgerStore;
  acks: AckStore;
  /** Which of the jobs' audiences have been cleared since the jobs were accepted. */
  cancelled(jobs: JobDocument[]): Promise<Set<number>>;
  fileWindow: number;
  filePartitions: number;
  maxInvalidShare: number;
  onProgress(job: JobDocument, filesDone: number, rows: number): void;
}

interface LoadingJob {
  job: JobDocument;
  underWay: Set<number>;
  nextFile: number;
  filesDone: number;
  rowsDone: number;
  reported: { at: number; rows: number };
  decided: JudgedFile[] | null;
  paths: Map<number, string>;
  done(): void;
}

/** What a job's outcome is added up from. */
export type JudgedFile = DecidedFile & { path: string };

const SHORTEST_MS = 20;
const LONGEST_MS = 100;
const MOST_MS = 1_000;
const REPORT_MS = 500;

export type LedgerWatch = ReturnType<typeof createLedgerWatch>;

export function createLedgerWatch(
  deps: WatchDependencies,
  signal: AbortSignal,
  onError: (error: unknown) => void,
) {
  const { retry, publisher, jobs, files, ledger, acks } = deps;
  const loading = new Map<number, LoadingJob>();
  const committing = new Map<number, () => void>();
  let running = false;

  async function handOutMore(entry: LoadingJob): Promise<void> {
    const room = deps.fileWindow - entry.underWay.size;
    if (room < Math.min(deps.fileWindow, 1 + deps.fileWindow / 4) || entry.nextFile >= entry.job.fileCount)
      return;
    const listing = entry.job.listing!;
    const next = await retry(
      'find files to hand out',
      () => files.undecided(listing, entry.nextFile, room),
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
    await handOut(entry, next);
  }

  async function handOut(entry: LoadingJob, next: FileDocument[]): Promise<void> {
    const messages = next.map((file) => ({
      partition: (file.job + file.number) % deps.filePartitions,
      key: `${file.job}.${file.number}`,
      value: encodeFile(entry.job, file),
    }));
    faultPoint('dispatch:before-hand-out');
    await retry('hand out files', () => publisher.send('files', messages), signal);
    faultPoint('dispatch:after-hand-out');
    for (const { number } of next) entry.underWay.add(number);
    entry.nextFile = next.at(-1)!.number + 1;
  }

  /** Decides what can be decided, for all jobs in one write. True if there was something. */
  async function decide(tallies: FileTally[]): Promise<boolean> {
    const open = tallies.filter(({ job, file }) => loading.get(job)?.underWay.has(file));
    const judged = await Promise.all(
      open.map(async (tally) => {
        const file = await retry(
          'judge a file',
          () => judgeFile(tally, ledger, deps.maxInvalidShare),
          signal,
        );
        return file && { entry: loading.get(tally.job)!, file };
      }),
    );
    const decided = judged.filter((one) => one !== null);
    if (decided.length > 0) faultPoint('dispatch:before-decide');
    const documents = decided.map(({ entry, file }) => ({ ...file, listing: entry.job.listing! }));
    await retry('record what was decided', () => files.decide(documents), signal);
    if (decided.length > 0) faultPoint('dispatch:after-decide');
    for (const { entry, file } of decided) {
      entry.underWay.delete(file.number);
      entry.filesDone++;
      entry.rowsDone += file.rows;
      entry.decided?.push({ ...file, path: entry.paths.get(file.number)! });
    }
    for (const entry of loading.values()) {
      const waiting = open.filter(({ job, file }) => job === entry.job._id && entry.underWay.has(file));
      const rows = entry.rowsDone + waiting.reduce((sum, { rows }) => sum + rows, 0);
      if (entry.filesDone < entry.job.fileCount) await report(entry, rows);
      if (decided.some((one) => one.entry === entry)) await handOutMore(entry);
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

  async function lookAtFiles(): Promise<boolean> {
    if (loading.size === 0) return false;
    const cancelled = await retry(
      'look for clears',
      () => deps.cancelled([...loading.values()].map(({ job }) => job)),
      signal,
    );
    for (const id of cancelled) {
      const entry = loading.get(id);
      if (!entry) continue;
      const failure = { code: 'cancelled', message: 'The audience was cleared.' } as const;
      faultPoint('dispatch:before-cancel');
      await retry('cancel files', () => files.cancelUndecided(entry.job.listing!, failure), signal);
      faultPoint('dispatch:after-cancel');
      finish(entry);
    }
    const wanted = [...loading.values()]
      .filter(({ underWay }) => underWay.size > 0)
      .map(({ job, underWay }) => ({ job: job._id, fromFile: Math.min(...underWay) }));
    const tallies = await retry('read the ledger', () => ledger.tally(wanted), signal);
    const changed = await decide(tallies);
    for (const entry of loading.values()) {
      if (entry.underWay.size === 0 && entry.nextFile >= entry.job.fileCount) finish(entry);
    }
    return changed || cancelled.size > 0;
  }

  async function lookAtAcks(): Promise<boolean> {
    const counts = await retry(
      'count acknowledgements',
      () => acks.countByJob([...committing.keys()]),
      signal,
    );
    let changed = false;
    for (const [job, done] of committing) {
      if ((counts.get(job) ?? 0) < SLOTS) continue;
      committing.delete(job);
      changed = true;
      done();
    }
    return changed;
  }

  async function watch(): Promise<void> {
    let pause = SHORTEST_MS;
    while (loading.size + committing.size > 0) {
      const began = performance.now();
      const changed = (await Promise.all([lookAtFiles(), lookAtAcks()])).some(Boolean);
      pause = changed ? SHORTEST_MS : Math.min(LONGEST_MS, pause * 1.3);
      // Asking takes a third of the time, in vain a fifth, however much is under way; but one that waited for MongoDB to come
      // back is no reason to be silent for as long again.
      const share = Math.min(MOST_MS, (changed ? 2 : 4) * (performance.now() - began));
      await sleep(Math.max(pause, share), undefined, { signal });
    }
  }

  function wake(): void {
    if (running) return;
    running = true;
    watch()
      .catch((error) => {
        if (!signal.aborted) onError(error);
      })
      .finally(() => {
        running = false;
        if (!signal.aborted && loading.size + committing.size > 0) wake();
      });
  }

  return {
    /**
     * Resolves when every file of the job is decided: with what was decided, if these are all files of a job just listed, else
     * with null, and MongoDB has it. `first` are the files of a job just listed.
     */
    async load(job: JobDocument, first: FileDocument[] | null): Promise<JudgedFile[] | null> {
      let done: () => void = () => {};
      const finished = new Promise<void>((resolve) => {
        done = resolve;
      });
      const before = first
        ? { files: 0, rows: 0 }
        : await retry('see what is decided', () => files.decidedOf(job.listing!), signal);
      const entry: LoadingJob = {
        job,
        underWay: new Set(),
        nextFile: 0,
        filesDone: before.files,
        rowsDone: before.rows,
        reported: { at: performance.now(), rows: before.rows },
        decided: first?.length === job.fileCount ? [] : null,
        paths: new Map(first?.map(({ number, path }) => [number, path])),
        done,
      };
      if (!first) await handOutMore(entry);
      else if (first.length > 0) await handOut(entry, first);
      loading.set(job._id, entry);
      wake();
      await finished;
      return entry.decided?.length === job.fileCount ? entry.decided : null;
    },

    /** Resolves when every slot has acknowledged the job. */
    commit(job: number): Promise<void> {
      return new Promise((resolve) => {
        committing.set(job, resolve);
        wake();
      });
    },
  };
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
  });
}
