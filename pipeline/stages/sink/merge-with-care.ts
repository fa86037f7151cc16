/**
 * A merge that its process dies of, for lack of memory, cannot count its failures. So after a crash, what was unfinished then is merged one
 * job at a time, and each is recorded before: the next owner of the partition knows what the last one died of. A job that processes die of
 * too often fails instead. Without a crash nothing is recorded.
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
  /** Whether a process may have died of the job. */
  isSuspect(job: number): boolean;
  /** Merges a suspect. */
  use(marker: JobMarker, merge: () => Promise<void>, step: SinkStep): Promise<void>;
}

const STAGE = 'sink';

export function createMergeWithCare({ crashes, jobs }: Dependencies) {
  /** Of all partitions: what is merged beside it would be suspected, too. */
  const oneAtATime = createByteBudget(1);

  /** To be called when a partition is taken. `assignment` ends when it is lost. */
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
