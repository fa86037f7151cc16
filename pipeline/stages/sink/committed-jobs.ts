/**
 * Which jobs the slots of a partition have merged. Jobs are merged in the order of their numbers, so the last one says it; except for
 * deferred ones, which others have overtaken. These are found in MongoDB when a partition is taken, and known from then on; and so are
 * attempts that were given up: their markers may come again, and must not be followed.
 */
import type { AckStore } from '../../stores/acks.ts';
import type { JobStore } from '../../stores/jobs/jobs.ts';

interface SlotProgress {
  /** The last job that the slot has merged. */
  last: number;
  /** Earlier ones that it has not merged. */
  deferred: Set<number>;
}

export type CommittedJobs = ReturnType<typeof createCommittedJobs>;

/** `leastAttempt`: of deferred jobs, the first attempt that was not given up. */
export function createCommittedJobs(
  bySlot: ReadonlyMap<number, SlotProgress>,
  leastAttempt: ReadonlyMap<number, number> = new Map(),
) {
  const has = ({ last, deferred }: SlotProgress, job: number) => job <= last && !deferred.has(job);

  return {
    /** Whether the slot belongs to the partition and has not merged the job. */
    isOpen(slot: number, job: number): boolean {
      const progress = bySlot.get(slot);
      return progress !== undefined && !has(progress, job);
    },
    /** Whether every slot has merged it. */
    hasAll: (job: number): boolean => [...bySlot.values()].every((progress) => has(progress, job)),
    of: (slot: number): Readonly<SlotProgress> => bySlot.get(slot)!,
    isGivenUp: (job: number, attempt: number): boolean => attempt < (leastAttempt.get(job) ?? 0),

    add(slot: number, jobs: readonly number[]): void {
      const progress = bySlot.get(slot)!;
      for (const job of jobs) {
        for (let skipped = progress.last + 1; skipped < job; skipped++) progress.deferred.add(skipped);
        progress.last = Math.max(progress.last, job);
        progress.deferred.delete(job);
      }
    },
  };
}

interface Dependencies {
  acks: Pick<AckStore, 'committedJobs' | 'slotsOf'>;
  jobs: Pick<JobStore, 'extent' | 'deferred' | 'unfinishedUpTo' | 'unfinishedAmong'>;
}

export function createReadCommitted({ acks, jobs }: Dependencies) {
  return async (slots: number[]): Promise<CommittedJobs> => {
    const [{ first }, last] = await Promise.all([jobs.extent(), acks.committedJobs(slots)]);
    const upTo = Math.max(...last.values());
    const open = first <= upTo ? [...(await jobs.unfinishedUpTo(upTo))] : [];
    const acked = await acks.slotsOf(open);
    // Of a job that ends, the acks are removed: one that is still unfinished had all of its acks when they were read.
    const unfinished = open.length > 0 ? await jobs.unfinishedAmong(open) : new Set<number>();
    const progressOf = (slot: number): SlotProgress => {
      const committed = last.get(slot)!;
      const isDeferred = (job: number) => job <= committed && !acked.get(job)?.has(slot);
      // Everything before the first unfinished job has ended.
      return { last: Math.max(committed, first - 1), deferred: new Set([...unfinished].filter(isDeferred)) };
    };
    const deferred = await jobs.deferred();
    const leastAttempt = deferred.map(({ _id, attempt = 0, stoppedAt }) => {
      return [_id, stoppedAt ? attempt + 1 : attempt] as const;
    });
    return createCommittedJobs(new Map(slots.map((slot) => [slot, progressOf(slot)])), new Map(leastAttempt));
  };
}
