/**
 * How long jobs wait for a partner's storage. Progress is a byte of a body, or an answer that asking again would not change; without it
 * for the deadline, the file (or the listing) fails. A body that comes, but in the time of the deadline slower than the minimum rate,
 * fails as too slow: a trickle of bytes would otherwise hold its place forever.
 *
 * The clock is the storage's, for all files and jobs of the partner there. Once one has used it up, each other gets one more try; or, if
 * the storage has brought something since, half of the time, and half of that the next time. So a storage that fails for some of its
 * keys costs twice the deadline, however many they are. In time it is forgiven.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { backoff } from '../engine/retry.ts';
import type { Logger } from '../runtime/log.ts';
import { StoreFailure, type StoreUnavailable, storeFailure } from './store-errors.ts';

export interface Patience {
  /** Begins to wait: for one answer, or for one body. */
  wait(bucket: string, key: string, signal?: AbortSignal): Wait;
}

export interface Wait {
  /** Bytes of a body came. Throws `storage_too_slow` if they have been too few for too long; only the time since the last call counts. */
  received(bytes: number): void;
  /** Something came: the clock starts again from now. */
  progress(): void;
  /** After a try that failed: resolves when it is time for the next, rejects with what is final. */
  again(problem: StoreFailure | StoreUnavailable): Promise<void>;
}

interface PatienceOptions {
  deadlineMs: number;
  /** Bytes per second that a body must come with; 0 means any. */
  minRate?: number;
  log: Logger;
  onRetry?(problem: StoreFailure | StoreUnavailable): void;
  /** The shared storage: whether it can be read at all. While it cannot, that is no failure of the job, and its clock stands still. */
  isReadable?(): Promise<boolean>;
}

const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 5_000;
/** Deadlines after the last time that one was used up. */
const FORGIVEN_AFTER = 2;
/** The shortest time in which a rate says something. */
const MIN_RATE_MS = 10_000;

/** Whatever the credentials are, these say something of the object. */
const isOfObject = ({ code }: StoreFailure) => code === 'missing' || code === 'changed';

export function createPatience({
  deadlineMs,
  minRate = 0,
  log,
  onRetry,
  isReadable,
}: PatienceOptions): Patience {
  let progressAt = performance.now();
  let exhaustedAt = Number.NEGATIVE_INFINITY;
  let timesExhausted = 0;

  const allowance = () => {
    if (timesExhausted > 0 && progressAt <= exhaustedAt) return 0;
    return deadlineMs / 2 ** timesExhausted;
  };
  const rateMs = () => Math.max(Math.min(deadlineMs, MIN_RATE_MS), deadlineMs / 2 ** timesExhausted);
  function exhaust(since: number): void {
    // Those that waited side by side have used it up together, and one more try uses up nothing.
    if (since > exhaustedAt && allowance() > 0) timesExhausted++;
    exhaustedAt = performance.now();
  }

  return {
    wait(bucket, key, signal) {
      const beganAt = performance.now();
      if (beganAt - exhaustedAt > FORGIVEN_AFTER * deadlineMs) timesExhausted = 0;
      let countedTo = beganAt;
      let waited = 0;
      let tries = 0;
      /** What has come, and in which time of waiting, since the rate was last found to be fine. */
      let came = { bytes: 0, ms: 0 };

      function progress(): void {
        progressAt = performance.now();
        countedTo = progressAt;
        waited = 0;
        tries = 0;
      }
      return {
        progress,
        received(bytes) {
          const now = performance.now();
          came.ms += now - countedTo;
          came.bytes += bytes;
          countedTo = now;
          if (came.ms < rateMs()) return;
          const { bytes: all, ms } = came;
          came = { bytes: 0, ms: 0 };
          if (all * 1_000 >= minRate * ms) return;
          const detail = `${all} bytes in ${Math.round(ms / 1_000)} s, less than ${minRate} bytes per second`;
          throw storeFailure('storage_too_slow', bucket, key, detail);
        },
        async again(problem) {
          signal?.throwIfAborted();
          const refused = problem instanceof StoreFailure;
          const isJobs = (refused && isOfObject(problem)) || !isReadable || (await isReadable());
          if (refused && isJobs) {
            if (problem.code === 'storage_too_slow') exhaust(Math.max(beganAt, performance.now() - rateMs()));
            progress();
            throw problem;
          }
          const now = performance.now();
          if (isJobs) waited += now - countedTo;
          if (isJobs) came.ms += now - countedTo;
          countedTo = now;
          const left = allowance() - waited;
          if (isJobs && left <= 0) {
            exhaust(Math.max(beganAt, now - waited));
            throw storeFailure('storage_unavailable', bucket, key, problem.message);
          }
          onRetry?.(problem);
          const pause = backoff(++tries, FIRST_PAUSE_MS, MAX_PAUSE_MS);
          const wait_ms = Math.round(isJobs ? Math.min(pause, left) : pause);
          log.warn(
            { bucket, key, tries, waited_ms: Math.round(waited), wait_ms, reason: problem.message },
            isJobs
              ? 'retrying: the partner’s storage did not respond properly'
              : 'retrying: the shared storage is down',
          );
          await sleep(wait_ms, undefined, signal ? { signal } : {}).catch(() => {});
          signal?.throwIfAborted();
        },
      };
    },
  };
}

/** Asks until there is an answer, or no patience. */
export async function persist<T>(wait: Wait, attempt: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      const answer = await attempt();
      wait.progress();
      return answer;
    } catch (error) {
      await wait.again(error as StoreFailure | StoreUnavailable);
    }
  }
}
