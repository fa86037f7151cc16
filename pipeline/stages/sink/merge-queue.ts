/**
 * The jobs of one partition that are to be merged, in the order of their markers. They are merged while the partition is read on: what
 * comes meanwhile gathers, and several imports share the next merge.
 *
 * A merge that fails is tried again, several jobs one by one. One that fails too often is given up, and with it what must be merged
 * behind it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { JobMarker } from '../../../schemas/topics.ts';
import { countFailures, FAILURE_PAUSE_MS, MAX_FAILURES } from '../../engine/failures.ts';
import { backoff } from '../../engine/retry.ts';
import { GROUP_BYTES } from './merge-jobs.ts';

interface QueuedJob {
  marker: JobMarker;
  /** Where the marker stands in the partition. */
  offset: bigint;
  bytes: number;
}

interface MergeWork {
  /** Gets several imports, or one job of another kind. */
  merge(markers: JobMarker[]): Promise<void>;
  /** Whether the job must not share its merge. */
  isAlone(marker: JobMarker): boolean;
  onFailure(jobs: number[], error: unknown): void;
  onGivenUp(marker: JobMarker, reason: string): Promise<void>;
  /** Whether all that must be merged before it is merged or queued. */
  isInSequence(marker: JobMarker): boolean;
  /** Between two tries. */
  pause(ms: number): Promise<void>;
  /** Nothing is merged once it is aborted. */
  signal: AbortSignal;
}

/** Under load, jobs gather for as long as the last merge took: fewer merges cost less. A job that comes alone has been merged by then. */
const MAX_GATHER_MS = 200;
const MAX_FAILURE_PAUSE_MS = 4 * FAILURE_PAUSE_MS;

export type MergeQueue = ReturnType<typeof createMergeQueue>;

export function createMergeQueue(work: MergeWork) {
  const { merge, isAlone, onFailure, onGivenUp, isInSequence, pause, signal } = work;
  /** With those that are being merged. */
  let waiting: QueuedJob[] = [];
  const queued = new Set<number>();
  let merging: Promise<void> | undefined;
  let failures = countFailures();
  /** How many jobs are merged one by one, because they failed together. */
  let alone = 0;

  const isShareable = ({ marker }: QueuedJob) =>
    marker.kind === 'import' && marker.request === 'commit' && !isAlone(marker);

  async function mergeAll(): Promise<void> {
    while (waiting.length > 0 && !signal.aborted) {
      const run = alone > 0 ? waiting.slice(0, 1) : firstRun(waiting, isShareable);
      const began = performance.now();
      try {
        await merge(run.map(({ marker }) => marker));
        waiting = waiting.slice(run.length);
        for (const { marker } of run) queued.delete(marker.job);
        alone = Math.max(0, alone - 1);
        failures = countFailures();
        await sleep(Math.min(performance.now() - began, MAX_GATHER_MS));
      } catch (error) {
        if (!signal.aborted) await afterFailure(run, error);
      }
    }
    merging = undefined;
  }

  async function afterFailure(run: QueuedJob[], error: unknown): Promise<void> {
    onFailure(
      run.map(({ marker }) => marker.job),
      error,
    );
    if (run.length > 1) {
      alone = run.length;
      return;
    }
    failures.add(error);
    if (failures.count < MAX_FAILURES) {
      // Not in step with merges of other partitions that failed with it.
      await pause(backoff(failures.count + 1, FAILURE_PAUSE_MS, MAX_FAILURE_PAUSE_MS)).catch(() => {});
      return;
    }
    const { reason } = failures;
    failures = countFailures();
    alone = Math.max(0, alone - 1);
    const [{ marker }, ...rest] = waiting as [QueuedJob, ...QueuedJob[]];
    waiting = [];
    queued.clear();
    for (const job of rest) if (isInSequence(job.marker)) enqueue(job);
    await onGivenUp(marker, reason);
  }

  function enqueue(job: QueuedJob): void {
    waiting.push(job);
    queued.add(job.marker.job);
  }

  return {
    add(job: QueuedJob): void {
      enqueue(job);
      merging ??= mergeAll();
    },
    has: (job: number): boolean => queued.has(job),
    /** The marker of a job that is queued has come again: what must be merged before it may have changed. */
    renew(marker: JobMarker): void {
      const { job, attempt } = marker;
      const same = waiting.find((one) => one.marker.job === job && one.marker.attempt === attempt);
      if (same) same.marker = marker;
    },
    /** Of the oldest job that is not merged. */
    oldestOffset: (): bigint | undefined => waiting[0]?.offset,
    /** Resolves when everything that was added is merged, or never will be. */
    idle: () => merging,
  };
}

/** What an audience matches depends on the imports before it, and on none behind it. */
function firstRun(waiting: QueuedJob[], isShareable: (job: QueuedJob) => boolean): QueuedJob[] {
  const [first] = waiting as [QueuedJob];
  if (!isShareable(first)) return [first];
  let bytes = 0;
  const end = waiting.findIndex((job, i) => {
    bytes += job.bytes;
    return !isShareable(job) || (i > 0 && bytes > GROUP_BYTES);
  });
  return waiting.slice(0, end < 0 ? waiting.length : end);
}
