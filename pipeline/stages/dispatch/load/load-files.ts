/** Loads the files of jobs: publishes them to split (publish-files.ts) and decides each when its ledger is complete (decide-files.ts). */
import type { FileDocument, FileFailure, JobDocument } from '../../../../schemas/job-documents.ts';
import type { JobStore } from '../../../stores/jobs/jobs.ts';
import type { LedgerStore } from '../../../stores/ledger.ts';
import type { QuotaHold } from '../admit/hold-quotas.ts';
import type { DispatchStep } from '../steps.ts';
import { createDecideFiles, type DecideDependencies } from './decide-files.ts';
import {
  bytesReadOf,
  createLoadingJob,
  type LoadedFiles,
  type LoadingJob,
  unpackedBytes,
} from './loading-job.ts';
import { createPublishFiles, type PublishDependencies } from './publish-files.ts';
import type { ReadAhead } from './read-ahead.ts';
import { countBatch } from './tally-files.ts';

export interface LoadDependencies extends PublishDependencies, DecideDependencies {
  jobs: JobStore;
  ledger: LedgerStore;
  quotas: Pick<QuotaHold, 'grow'>;
  readAhead: Pick<ReadAhead, 'grow' | 'mustWait'>;
  /** The cancelled ones of these jobs, and why. */
  cancelledAmong(jobs: JobDocument[]): Promise<Map<number, FileFailure>>;
}

const REPORT_MS = 500;

export type FileLoader = ReturnType<typeof createFileLoader>;

export function createFileLoader(deps: LoadDependencies, step: DispatchStep, wake: () => void) {
  const { jobs, files, ledger } = deps;
  const loading = new Map<number, LoadingJob>();
  const { publishFirst, publishMore, publishStalled } = createPublishFiles(deps, step);
  const decide = createDecideFiles(deps, step);

  async function begin(entry: LoadingJob, first: FileDocument[] | null): Promise<void> {
    if (first && first.length > 0) await publishFirst(entry, first);
    else await publishMore(entry);
    loading.set(entry.job._id, entry);
    wake();
  }

  async function report(entry: LoadingJob): Promise<void> {
    const isDue = performance.now() - entry.reported.at >= REPORT_MS;
    if (!isDue || entry.filesDone === entry.job.fileCount) return;
    const { filesDone } = entry;
    let { rowsDone: rows, bytesDone } = entry;
    for (const file of entry.inFlight.values()) {
      rows += file.tally.rows;
      bytesDone += bytesReadOf(entry, file);
    }
    if (rows === entry.reported.rows) return;
    entry.reported = { at: performance.now(), rows };
    await step('progress', () => jobs.progress(entry.job._id, { filesDone, rows, bytesDone }));
    deps.log.info({ job: entry.job._id, files_done: filesDone, rows }, 'loading');
  }

  const isRead = ({ inFlight, nextFile, job }: LoadingJob) =>
    inFlight.size === 0 && nextFile >= job.fileCount;

  /** Charges the growth of compressed files, seen while reading, to the quota. A decided job is no longer refused. */
  async function countGrowth(entry: LoadingJob): Promise<void> {
    const { job, counted } = entry;
    const bytes = unpackedBytes(entry);
    const now = performance.now();
    deps.readAhead.grow(job._id, bytes);
    if (bytes === counted.bytes || (!isRead(entry) && now - counted.at < REPORT_MS)) return;
    entry.counted = { bytes, at: now };
    if (job.phase === 'listed')
      entry.refused = await step.read('check the quota', () => deps.quotas.grow(job, bytes));
  }

  /** Puts a job that exceeds the read-ahead limit on hold, even in the middle of a file. True if it was released. */
  async function holdOrRelease(entry: LoadingJob): Promise<boolean> {
    const mustWait = deps.readAhead.mustWait(entry.job._id);
    if (mustWait === entry.isHeld) return false;
    await step('progress', () => jobs.hold(entry.job._id, mustWait));
    deps.log.info(
      { job: entry.job._id },
      mustWait ? 'on hold: read-ahead limit exceeded' : 'released from hold',
    );
    entry.isHeld = mustWait;
    entry.progress.at = performance.now();
    return !mustWait;
  }

  function finish(entry: LoadingJob): void {
    loading.delete(entry.job._id);
    entry.done();
  }

  const isLoading = (entry: LoadingJob) => loading.get(entry.job._id) === entry;

  async function advance(entry: LoadingJob, isChanged: boolean, isTouched: boolean): Promise<void> {
    await report(entry);
    if (isTouched || isRead(entry)) await countGrowth(entry);
    const isReleased = await holdOrRelease(entry);
    if (!entry.isHeld && !entry.refused) {
      if (isChanged || isReleased) await publishMore(entry);
      await publishStalled(entry);
    }
    if (entry.refused || isRead(entry)) finish(entry);
  }

  async function cancelUnwanted(): Promise<boolean> {
    const cancelled = await step.read('look for cancelled jobs', () =>
      deps.cancelledAmong([...loading.values()].map(({ job }) => job)),
    );
    for (const [id, failure] of cancelled) {
      const entry = loading.get(id);
      if (!entry) continue;
      loading.delete(id);
      // Not awaited: there may be millions of files, and other jobs are loading.
      step('cancel', () => files.cancelUndecided(entry.job.listing!, failure)).then(entry.done, entry.fail);
    }
    return cancelled.size > 0;
  }

  /** Counts new ledger entries. Returns the files they belong to. */
  async function readLedger(): Promise<Map<LoadingJob, Set<number>>> {
    const touched = new Map<LoadingJob, Set<number>>();
    const wanted = [...loading.values()].map(({ job, attempt, inFlight }) => {
      const files = [...inFlight].map(([file, { tally }]) => ({ file, from: tally.joined }));
      const isWhole = files.length === job.fileCount && files.every(({ from }) => from === 0);
      return { job: job._id, attempt, isWhole, files };
    });
    const count = async () => {
      for await (const batch of ledger.batchesOf(wanted)) {
        const entry = loading.get(batch.job);
        const file = entry?.attempt === batch.attempt ? entry.inFlight.get(batch.file) : undefined;
        if (!entry || !file || !countBatch(file.tally, batch)) continue;
        entry.batchesSeen++;
        touched.set(entry, (touched.get(entry) ?? new Set()).add(batch.file));
      }
    };
    await step.read('read the ledger', count);
    return touched;
  }

  return {
    /** Resolves when every file of the job is decided, or the job is refused. `first`: the files of a job just listed. */
    async load(job: JobDocument, first: FileDocument[] | null): Promise<LoadedFiles> {
      const before = first
        ? { files: 0, rows: 0, bytes: 0, grown: 0 }
        : await step.read('read decided files', () => files.decidedOf(job.listing!, job.attempt ?? 0));
      return new Promise((resolve, reject) => {
        const entry = createLoadingJob(job, { first, before, patienceMs: deps.stallMs, resolve, reject });
        begin(entry, first).catch(reject);
      });
    },

    isNeeded: () => loading.size > 0,
    async look(): Promise<boolean> {
      if (loading.size === 0) return false;
      const [isCancelled, touched] = await Promise.all([cancelUnwanted(), readLedger()]);
      for (const entry of touched.keys()) if (!isLoading(entry)) touched.delete(entry);
      const changed = await decide(touched);
      // In parallel: a job whose files are read does not wait until those of a larger one are published.
      await Promise.all(
        [...loading.values()].map((entry) => advance(entry, changed.has(entry), touched.has(entry))),
      );
      return isCancelled || changed.size > 0;
    },
  };
}
