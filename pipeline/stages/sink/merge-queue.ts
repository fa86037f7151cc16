/**
 * Decided jobs of one partition that wait for their merge. A job waits only for the jobs that its marker names (`after`). Merging does not
 * block reading the partition. Small jobs are merged in waves: imports share one merge, loads get one each; jobs that arrive during a wave
 * form the next. A large job is merged next to the waves.
 *
 * A failed merge is retried, job by job. A job that fails too often is given up, and with it the jobs that must follow it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { JobMarker } from '../../../schemas/topics.ts';
import { countFailures, FAILURE_PAUSE_MS, MAX_FAILURES } from '../../engine/failures.ts';
import { backoff } from '../../engine/retry.ts';
import { inGroups, within } from '../../runtime/in-groups.ts';
import { SMALL_BYTES } from './merge-jobs.ts';

interface NewMerge {
  marker: JobMarker;
  /** Offset of the marker. */
  offset: bigint;
  bytes: number;
}

interface QueuedJob extends NewMerge {
  isMerging: boolean;
  /** It has failed: merge it alone, not in a wave. */
  isAlone: boolean;
  failures: ReturnType<typeof countFailures>;
}

interface MergeWork {
  /** Merges several imports, or one job of another kind. */
  merge(markers: JobMarker[]): Promise<void>;
  /** Whether the job must be merged alone. */
  isAlone(marker: JobMarker): boolean;
  onFailure(jobs: number[], error: unknown): void;
  onGivenUp(marker: JobMarker, reason: string): Promise<void>;
  /** Whether all of the job's predecessors are merged or queued. */
  isInSequence(marker: JobMarker): boolean;
  /** Backoff between attempts. */
  pause(ms: number): Promise<void>;
  /** No merge starts once it is aborted. */
  signal: AbortSignal;
}

/** Under load, jobs are gathered for as long as the last wave took, because fewer merges cost less. A single job does not wait. */
const MAX_GATHER_MS = 200;
const MAX_FAILURE_PAUSE_MS = 4 * FAILURE_PAUSE_MS;

export type MergeQueue = ReturnType<typeof createMergeQueue>;

export function createMergeQueue(work: MergeWork) {
  const { signal } = work;
  /** In marker order, including jobs being merged. */
  let queued = new Map<number, QueuedJob>();

  const isLoad = ({ kind }: JobMarker) => kind === 'import' || kind === 'audience';
  const isSmall = ({ marker, bytes, isAlone }: QueuedJob) =>
    !isAlone && bytes <= SMALL_BYTES && isLoad(marker) && !work.isAlone(marker);
  const mayShare = (entry: QueuedJob) =>
    isSmall(entry) && entry.marker.kind === 'import' && entry.marker.request === 'commit';
  const mayBeSideBySide = (entry: QueuedJob) => isSmall(entry) && !mayShare(entry);

  /** Jobs that wait for no queued job, or only for jobs chosen with them (`together`). */
  function ready(isWanted: (entry: QueuedJob) => boolean, { together = false } = {}): QueuedJob[] {
    if (signal.aborted) return [];
    const chosen = new Map<number, QueuedJob>();
    const isBefore = (job: number) => !queued.has(job) || (together && chosen.has(job));
    for (const entry of queued.values())
      if (!entry.isMerging && isWanted(entry) && entry.marker.after.every(isBefore))
        chosen.set(entry.marker.job, entry);
    return [...chosen.values()];
  }

  const startImports = createWaves(() => {
    const [first] = inGroups(
      ready(mayShare, { together: true }),
      within<QueuedJob>({ bytes: SMALL_BYTES }, ({ bytes }) => bytes),
    );
    return first ? [mergeAll(first)] : [];
  });
  const startLoads = createWaves(() => ready(mayBeSideBySide).map((entry) => mergeAll([entry])));

  function start(): void {
    startImports();
    startLoads();
    for (const entry of ready((each) => !isSmall(each))) void mergeAll([entry]);
  }

  async function mergeAll(run: QueuedJob[]): Promise<void> {
    for (const entry of run) entry.isMerging = true;
    try {
      await work.merge(run.map(({ marker }) => marker));
      for (const { marker } of run) queued.delete(marker.job);
      start();
    } catch (error) {
      if (!signal.aborted) afterFailure(run, error);
    }
  }

  function afterFailure(run: QueuedJob[], error: unknown): void {
    work.onFailure(
      run.map(({ marker }) => marker.job),
      error,
    );
    for (const entry of run) entry.isAlone = true;
    const [first] = run as [QueuedJob];
    if (run.length === 1) void tryAgain(first, error);
    else release(run);
  }

  function release(run: QueuedJob[]): void {
    for (const entry of run) entry.isMerging = false;
    start();
  }

  async function tryAgain(entry: QueuedJob, error: unknown): Promise<void> {
    const { failures } = entry;
    failures.add(error);
    if (failures.count >= MAX_FAILURES) return giveUp(entry);
    // With jitter: merges of other partitions probably failed at the same time.
    await work.pause(backoff(failures.count + 1, FAILURE_PAUSE_MS, MAX_FAILURE_PAUSE_MS)).catch(() => {});
    release([entry]);
  }

  async function giveUp(entry: QueuedJob): Promise<void> {
    const others = [...queued.values()].filter((other) => other !== entry);
    queued = new Map();
    for (const other of others) if (work.isInSequence(other.marker)) queued.set(other.marker.job, other);
    await work.onGivenUp(entry.marker, entry.failures.reason);
  }

  return {
    add(job: NewMerge): void {
      queued.set(job.marker.job, { ...job, isMerging: false, isAlone: false, failures: countFailures() });
      start();
    },
    has: (job: number): boolean => queued.has(job),
    /** Whether the job's merge has started. */
    isMerging: (job: number): boolean => queued.get(job)?.isMerging ?? false,
    /** The marker of a queued job was repeated: its predecessors may have changed. */
    renew(marker: JobMarker): void {
      const same = queued.get(marker.job);
      if (same?.marker.attempt !== marker.attempt) return;
      same.marker = marker;
      start();
    },
    /** Offset of the oldest marker whose job is not merged. */
    oldestOffset(): bigint | undefined {
      let oldest: bigint | undefined;
      for (const { offset } of queued.values()) if (oldest === undefined || offset < oldest) oldest = offset;
      return oldest;
    },
  };
}

/** Runs waves one after the other until none is left. */
function createWaves(begin: () => Promise<void>[]) {
  let isRunning = false;
  async function run(): Promise<void> {
    for (let wave = begin(); wave.length > 0; wave = begin()) {
      const began = performance.now();
      await Promise.all(wave);
      await sleep(Math.min(performance.now() - began, MAX_GATHER_MS));
    }
    isRunning = false;
  }
  return (): void => {
    if (isRunning) return;
    isRunning = true;
    void run();
  };
}
