/**
 * How long jobs wait for a partner's storage. Progress is a byte of a body, or a final answer. Without progress until the deadline, the
 * file (or the listing) fails. A body that stays below the minimum rate for the length of the deadline fails as too slow: a trickle of
 * bytes would otherwise hold its place forever.
 *
 * The patience is shared by all files and jobs of the partner in that storage. Once a file has used it up, every other file gets one more
 * try; or, if the storage has made progress since, half of the deadline, next time a quarter, and so on. So storage that fails for some of
 * its keys costs twice the deadline in total, however many keys. After a while the full deadline applies again.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { backoff } from '../engine/retry.ts';
import type { Logger } from '../runtime/log.ts';
import { StoreFailure, type StoreUnavailable, storeFailure } from './store-errors.ts';

export interface Patience {
  /** Starts waiting for one response or body. */
  wait(bucket: string, key: string, signal?: AbortSignal): Wait;
}

export interface Wait {
  /**
   * Call it with the bytes received. Throws `storage_too_slow` if the rate is too low for too long; counts the time since the last call.
   */
  received(bytes: number): void;
  /** Restarts the clock. */
  progress(): void;
  /** After a failed attempt: resolves when it is time for the next, or rejects with the final failure. */
  again(problem: StoreFailure | StoreUnavailable): Promise<void>;
}

interface PatienceOptions {
  deadlineMs: number;
  /** Minimum bytes per second of a body; 0: any. */
  minRate?: number;
  log: Logger;
  onRetry?(problem: StoreFailure | StoreUnavailable): void;
  /** Shared storage only: whether it is readable at all. While it is not, jobs do not fail, and their clocks are paused. */
  isReadable?(): Promise<boolean>;
}

const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 5_000;
/** After this many deadlines since it was last used up, patience is restored. */
const FORGIVEN_AFTER = 2;
/** The shortest time over which a rate is meaningful. */
const MIN_RATE_MS = 10_000;

/** Failures of the object, whatever the credentials. */
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
    // Concurrent waits that use it up together count once, and a single extra try does not count.
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
      /** Bytes received, and the time waited for them, since the rate was last checked. */
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

/** Repeats the attempt until it succeeds or patience is used up. */
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
