/**
 * Limits a partner's unfinished jobs without counting them for each request: a periodic count, more frequent near the limit, plus the
 * jobs accepted by this process since. With several processes, jobs accepted between two counts can exceed the limit.
 */
import type { JobStore } from '../../pipeline/stores/jobs/jobs.ts';
import { Problem } from '../http/problem.ts';

export type PendingJobs = ReturnType<typeof createPendingJobs>;

interface Tally {
  counted: number;
  countedAt: number;
  /** Jobs accepted by this process since the last count began. */
  added: number;
  /** Places that are reserved and not settled yet. */
  reserved: number;
  counting?: Promise<void>;
}

/** Count interval below half of the limit, and above. */
const COUNT_SELDOM_MS = 10_000;
const COUNT_OFTEN_MS = 1_000;
/** At the limit: as soon as a job has ended, the partner's next request should be accepted. */
const COUNT_AGAIN_MS = 250;

const pendingOf = ({ counted, added, reserved }: Tally) => counted + added + reserved;

export function createPendingJobs(jobs: Pick<JobStore, 'countPending' | 'hasToken'>) {
  const tallies = new Map<string, Tally>();

  function count(partner: string, tally: Tally, max: number): Promise<void> {
    tally.counting ??= (async () => {
      const before = tally.added;
      const countedAt = performance.now();
      const counted = await jobs.countPending(partner, max);
      Object.assign(tally, { counted, countedAt, added: tally.added - before });
    })().finally(() => {
      tally.counting = undefined;
    });
    return tally.counting;
  }

  function countEveryMs(tally: Tally, max: number): number {
    const pending = pendingOf(tally);
    if (pending >= max) return COUNT_AGAIN_MS;
    return pending > max / 2 ? COUNT_OFTEN_MS : COUNT_SELDOM_MS;
  }

  /** Whether an earlier attempt of the request created the job. */
  const isThere = async (requestToken: string | undefined) =>
    requestToken !== undefined && (await jobs.hasToken(requestToken));

  return {
    /** Reserves a place for a job of the partner, or refuses it. A retry of an accepted request needs no place. */
    async reserve(partner: string, max: number, requestToken?: string) {
      let tally = tallies.get(partner);
      if (!tally) {
        tally = { counted: 0, countedAt: Number.NEGATIVE_INFINITY, added: 0, reserved: 0 };
        tallies.set(partner, tally);
      }
      if (performance.now() - tally.countedAt >= countEveryMs(tally, max)) await count(partner, tally, max);
      if (pendingOf(tally) >= max && !(await isThere(requestToken)))
        throw new Problem(
          'too_many_pending',
          'Too many of your jobs are unfinished. Nothing was queued; retry when some have ended.',
          { headers: { 'Retry-After': '5' } },
        );
      tally.reserved++;
      return {
        /** The job was accepted, or was not. */
        settle(accepted: boolean): void {
          tally.reserved--;
          if (accepted) tally.added++;
        },
      };
    },
  };
}
