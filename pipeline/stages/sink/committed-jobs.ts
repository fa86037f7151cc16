/**
 * Which jobs the slots of a partition have committed: a slot has a last job, and earlier jobs of other lanes that it has not committed yet.
 * Read from MongoDB when a partition is assigned and kept up to date from then on. So are abandoned attempts, whose markers may be
 * redelivered and must be ignored.
 */
import type { AckStore } from '../../stores/acks.ts';
import type { JobStore } from '../../stores/jobs/jobs.ts';

interface SlotProgress {
  /** The last job that the slot has committed. */
  last: number;
  /** Earlier jobs that it has not committed. */
  open: Set<number>;
}

export type CommittedJobs = ReturnType<typeof createCommittedJobs>;

/** `leastAttempt`: the first valid attempt of jobs with abandoned ones. */
export function createCommittedJobs(
  bySlot: ReadonlyMap<number, SlotProgress>,
  leastAttempt: ReadonlyMap<number, number> = new Map(),
) {
  let allEndedBefore = 0;
  const has = ({ last, open }: SlotProgress, job: number) => job <= last && !open.has(job);

  return {
    /** Whether the slot belongs to the partition and has not committed the job. */
    isOpen(slot: number, job: number): boolean {
      const progress = bySlot.get(slot);
      return progress !== undefined && !has(progress, job);
    },
    /** Whether every slot has committed the job. */
    hasAll: (job: number): boolean => [...bySlot.values()].every((progress) => has(progress, job)),
    isGivenUp: (job: number, attempt: number): boolean => attempt < (leastAttempt.get(job) ?? 0),

    add(slot: number, jobs: readonly number[]): void {
      const progress = bySlot.get(slot)!;
      for (const job of jobs) {
        for (let skipped = progress.last + 1; skipped < job; skipped++) progress.open.add(skipped);
        progress.last = Math.max(progress.last, job);
        progress.open.delete(job);
      }
    },

    /** All jobs below this number have ended. */
    endedBefore(number: number): void {
      if (number <= allEndedBefore) return;
      allEndedBefore = number;
      for (const { open } of bySlot.values()) for (const job of open) if (job < number) open.delete(job);
    },
  };
}

interface Dependencies {
  acks: Pick<AckStore, 'committedJobs' | 'slotsOf'>;
  jobs: Pick<JobStore, 'extent' | 'unfinishedUpTo' | 'unfinishedAmong' | 'attempts'>;
}

export function createReadCommitted({ acks, jobs }: Dependencies) {
  return async (slots: number[]): Promise<CommittedJobs> => {
    const [{ first }, last] = await Promise.all([jobs.extent(), acks.committedJobs(slots)]);
    const before = [...(await jobs.unfinishedUpTo(Math.max(...last.values())))];
    const acked = await acks.slotsOf(before);
    // The acks of a job are removed when it ends. Read after the acks: a job that is still unfinished now had all of its acks then.
    const unfinished = before.length > 0 ? await jobs.unfinishedAmong(before) : new Set<number>();
    const progressOf = (slot: number): SlotProgress => {
      const committed = last.get(slot)!;
      const isOpen = (job: number) => job <= committed && !acked.get(job)?.has(slot);
      // All jobs before the first unfinished one have ended.
      return { last: Math.max(committed, first - 1), open: new Set([...unfinished].filter(isOpen)) };
    };
    const attempts = await jobs.attempts();
    const leastAttempt = attempts.map(({ _id, attempt = 0, stoppedAt }) => {
      return [_id, stoppedAt ? attempt + 1 : attempt] as const;
    });
    return createCommittedJobs(new Map(slots.map((slot) => [slot, progressOf(slot)])), new Map(leastAttempt));
  };
}
