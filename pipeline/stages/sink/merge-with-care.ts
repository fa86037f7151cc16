/**
 * A merge that crashes its process (out of memory) cannot count its own failures. So after a crash, unfinished jobs are merged one at a
 * time and recorded first: the next owner of the partition knows which merge killed the last one. A job that keeps crashing processes
 * fails. Without a crash nothing is recorded.
 */
import { randomUUID } from 'node:crypto';
import type { JobMarker } from '../../../schemas/topics.ts';
import { MAX_FAILURES } from '../../engine/failures.ts';
import { createByteBudget } from '../../runtime/byte-budget.ts';
import type { CrashStore } from '../../stores/crashes.ts';
import type { JobStore } from '../../stores/jobs/jobs.ts';
import type { SinkStep } from './steps.ts';

interface Dependencies {
  crashes: CrashStore;
  jobs: Pick<JobStore, 'extent'>;
}

export interface Care {
  /** Whether the job may have crashed a process. */
  isSuspect(job: number): boolean;
  /** Merges a suspect. */
  use(marker: JobMarker, merge: () => Promise<void>, step: SinkStep): Promise<void>;
}

const STAGE = 'sink';

export function createMergeWithCare({ crashes, jobs }: Dependencies) {
  /** Across all partitions: a concurrent merge would become a suspect, too. */
  const oneAtATime = createByteBudget(1);

  /** Call it when a partition is assigned. `assignment` ends when it is revoked. */
  return async (partition: number, assignment: SinkStep): Promise<Care> => {
    const owner = randomUUID();
    const { signal } = assignment;
    const isAfterCrash = await assignment.read('look for a crash', () =>
      crashes.succeed(STAGE, partition, owner),
    );
    const leave = () => void crashes.leave(STAGE, partition, owner).catch(() => {});
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave, { once: true });
    const { newest } = isAfterCrash
      ? await assignment.read('find the newest job', () => jobs.extent())
      : { newest: 0 };

    return {
      isSuspect: (job) => job <= newest,
      use: ({ job, attempt }, merge, step) =>
        oneAtATime.use(1, async () => {
          signal.throwIfAborted();
          const take = () => crashes.take(STAGE, partition, `${job}-${attempt}`);
          const deaths = await step.read('record the merge', take);
          try {
            if (deaths >= MAX_FAILURES) throw new Error(`${deaths} processes died while merging it`);
            await merge();
          } finally {
            await crashes.release(STAGE, partition).catch(() => {});
          }
        }),
    };
  };
}
