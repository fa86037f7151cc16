/**
 * How many jobs of a partner have not ended, without a count for each request: counted now and then while the partner asks, the
 * nearer to the limit the more often, and what this process accepts meanwhile is added. Exact for one process; with several,
 * what the others accept between two counts comes on top.
 */
import type { NewJobStore } from '../stores/new-jobs.ts';

export class TooManyPending extends Error {
  readonly code = 'too_many_pending';
}

export type PendingJobs = ReturnType<typeof createPendingJobs>;

interface Tally {
  counted: number;
  countedAt: number;
  /** Jobs accepted by this process since the last count began. */
  added: number;
  /** Places that are reserved and not settled. */
  reserved: number;
  counting?: Promise<void>;
}

/** Below half of the limit, and above it. */
const COUNT_SELDOM_MS = 10_000;
const COUNT_OFTEN_MS = 1_000;
/** At the limit: jobs end meanwhile, and whoever waits for that should not wait for long. */
const COUNT_AGAIN_MS = 250;

const pendingOf = ({ counted, added, reserved }: Tally) => counted + added + reserved;

export function createPendingJobs(jobs: NewJobStore, max: number) {
  const tallies = new Map<string, Tally>();

  function count(partner: string, tally: Tally): Promise<void> {
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

  function countEveryMs(tally: Tally): number {
    const pending = pendingOf(tally);
    if (pending >= max) return COUNT_AGAIN_MS;
    return pending > max / 2 ? COUNT_OFTEN_MS : COUNT_SELDOM_MS;
  }

  /** The job of an earlier try of the request, whose answer was lost. */
  const isThere = async (requestToken: string | undefined) =>
    requestToken !== undefined && (await jobs.hasToken(requestToken));

  return {
    /** A place for one more job of the partner; throws TooManyPending if there is none. A job that is there needs none. */
    async reserve(partner: string, requestToken?: string) {
      let tally = tallies.get(partner);
      if (!tally) {
        tally = { counted: 0, countedAt: Number.NEGATIVE_INFINITY, added: 0, reserved: 0 };
        tallies.set(partner, tally);
      }
      if (performance.now() - tally.countedAt >= countEveryMs(tally)) await count(partner, tally);
      if (pendingOf(tally) >= max && !(await isThere(requestToken)))
        throw new TooManyPending(`${max} jobs of ${partner} have not ended`);
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
