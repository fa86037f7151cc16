/**
 * The jobs of one partition that are to be merged. A job waits for those that its marker names, and for no other. They are merged while
 * the partition is read on: small ones in waves, one of imports, which share a merge, and one of loads, each with its own; what comes
 * meanwhile makes the next wave. A large one is merged beside the waves.
 *
 * A merge that fails is tried again, several jobs one by one. One that fails too often is given up, and with it what must be merged
 * behind it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { JobMarker } from '../../../schemas/topics.ts';
import { countFailures, FAILURE_PAUSE_MS, MAX_FAILURES } from '../../engine/failures.ts';
import { backoff } from '../../engine/retry.ts';
import { inGroups, within } from '../../runtime/in-groups.ts';
import { SMALL_BYTES } from './merge-jobs.ts';

interface NewMerge {
  marker: JobMarker;
  /** Where the marker stands in the partition. */
  offset: bigint;
  bytes: number;
}

interface QueuedJob extends NewMerge {
  isMerging: boolean;
  /** Not in a wave: it has failed. */
  isAlone: boolean;
  failures: ReturnType<typeof countFailures>;
}

interface MergeWork {
  /** Gets several imports, or one job of another kind. */
  merge(markers: JobMarker[]): Promise<void>;
  /** Whether the job must not be merged with others. */
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

/** Under load, jobs gather for as long as the last wave took: fewer merges cost less. A job that comes alone has been merged by then. */
const MAX_GATHER_MS = 200;
const MAX_FAILURE_PAUSE_MS = 4 * FAILURE_PAUSE_MS;

export type MergeQueue = ReturnType<typeof createMergeQueue>;

export function createMergeQueue(work: MergeWork) {
  const { signal } = work;
  /** In the order of their markers, with those that are being merged. */
  let queued = new Map<number, QueuedJob>();

  const isLoad = ({ kind }: JobMarker) => kind === 'import' || kind === 'audience';
  const isSmall = ({ marker, bytes, isAlone }: QueuedJob) =>
    !isAlone && bytes <= SMALL_BYTES && isLoad(marker) && !work.isAlone(marker);
  const mayShare = (one: QueuedJob) =>
    isSmall(one) && one.marker.kind === 'import' && one.marker.request === 'commit';
  const mayBeSideBySide = (one: QueuedJob) => isSmall(one) && !mayShare(one);

  /** Those that wait for no other that is queued; or only for some that are chosen with them. */
  function ready(isWanted: (one: QueuedJob) => boolean, { together = false } = {}): QueuedJob[] {
    if (signal.aborted) return [];
    const chosen = new Map<number, QueuedJob>();
    const isBefore = (job: number) => !queued.has(job) || (together && chosen.has(job));
    for (const one of queued.values())
      if (!one.isMerging && isWanted(one) && one.marker.after.every(isBefore))
        chosen.set(one.marker.job, one);
    return [...chosen.values()];
  }

  const startImports = createWaves(() => {
    const [first] = inGroups(
      ready(mayShare, { together: true }),
      within<QueuedJob>({ bytes: SMALL_BYTES }, ({ bytes }) => bytes),
    );
    return first ? [mergeAll(first)] : [];
  });
  const startLoads = createWaves(() => ready(mayBeSideBySide).map((one) => mergeAll([one])));

  function start(): void {
    startImports();
    startLoads();
    for (const one of ready((each) => !isSmall(each))) void mergeAll([one]);
  }

  async function mergeAll(run: QueuedJob[]): Promise<void> {
    for (const one of run) one.isMerging = true;
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
    for (const one of run) one.isAlone = true;
    const [first] = run as [QueuedJob];
    if (run.length === 1) void tryAgain(first, error);
    else release(run);
  }

  function release(run: QueuedJob[]): void {
    for (const one of run) one.isMerging = false;
    start();
  }

  async function tryAgain(one: QueuedJob, error: unknown): Promise<void> {
    const { failures } = one;
    failures.add(error);
    if (failures.count >= MAX_FAILURES) return giveUp(one);
    // Not in step with merges of other partitions that failed with it.
    await work.pause(backoff(failures.count + 1, FAILURE_PAUSE_MS, MAX_FAILURE_PAUSE_MS)).catch(() => {});
    release([one]);
  }

  async function giveUp(one: QueuedJob): Promise<void> {
    const others = [...queued.values()].filter((other) => other !== one);
    queued = new Map();
    for (const other of others) if (work.isInSequence(other.marker)) queued.set(other.marker.job, other);
    await work.onGivenUp(one.marker, one.failures.reason);
  }

  return {
    add(job: NewMerge): void {
      queued.set(job.marker.job, { ...job, isMerging: false, isAlone: false, failures: countFailures() });
      start();
    },
    has: (job: number): boolean => queued.has(job),
    /** Whether its merge has begun. */
    isMerging: (job: number): boolean => queued.get(job)?.isMerging ?? false,
    /** The marker of a job that is queued has come again: what must be merged before it may have changed. */
    renew(marker: JobMarker): void {
      const same = queued.get(marker.job);
      if (same?.marker.attempt !== marker.attempt) return;
      same.marker = marker;
      start();
    },
    /** Of the oldest marker whose job is not merged. */
    oldestOffset(): bigint | undefined {
      let oldest: bigint | undefined;
      for (const { offset } of queued.values()) if (oldest === undefined || offset < oldest) oldest = offset;
      return oldest;
    },
  };
}

/** One wave after the other, for as long as there are any. */
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
