/**
 * The jobs of one partition that are to be merged, in the order of their markers. They are merged while the partition is read on: what
 * comes meanwhile gathers, and several imports share the next merge.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { CommitMarker } from '../../../schemas/topics.ts';
import { GROUP_BYTES } from './merge-jobs.ts';

export interface QueuedJob {
  marker: CommitMarker;
  /** Where the marker stands in the partition. */
  offset: bigint;
  bytes: number;
}

/** Under load, jobs gather for as long as the last merge took: fewer merges cost less. A job that comes alone has been merged by then. */
const MAX_GATHER_MS = 200;

export type MergeQueue = ReturnType<typeof createMergeQueue>;

/** `merge` gets several imports, or one job of another kind. What it rejects with is the end of the queue. */
export function createMergeQueue(
  merge: (markers: CommitMarker[]) => Promise<void>,
  onFailed: (error: unknown) => void,
) {
  let waiting: QueuedJob[] = [];
  let merging: Promise<void> | undefined;
  let lastJob = 0;
  /** Of the oldest job that is not merged. */
  let oldestOffset: bigint | undefined;

  async function mergeAll(): Promise<void> {
    try {
      while (waiting.length > 0) {
        const run = firstRun(waiting);
        waiting = waiting.slice(run.length);
        const began = performance.now();
        await merge(run.map(({ marker }) => marker));
        oldestOffset = waiting[0]?.offset;
        await sleep(Math.min(performance.now() - began, MAX_GATHER_MS));
      }
      merging = undefined;
    } catch (error) {
      onFailed(error);
    }
  }

  return {
    add(job: QueuedJob): void {
      waiting.push(job);
      lastJob = job.marker.job;
      oldestOffset ??= job.offset;
      merging ??= mergeAll();
    },
    /** The newest job that was added. */
    lastJob: () => lastJob,
    oldestOffset: () => oldestOffset,
    /** Resolves when everything that was added is merged, or never will be. */
    idle: () => merging,
  };
}

/** What an audience matches depends on the imports before it, and on none behind it. */
function firstRun(waiting: QueuedJob[]): QueuedJob[] {
  const [first] = waiting as [QueuedJob];
  if (first.marker.kind !== 'import') return [first];
  let bytes = 0;
  const end = waiting.findIndex((job, i) => {
    bytes += job.bytes;
    return job.marker.kind !== 'import' || (i > 0 && bytes > GROUP_BYTES);
  });
  return end < 0 ? waiting : waiting.slice(0, end);
}
