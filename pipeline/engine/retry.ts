/** The only retry helper. Repeats a single step, never a sequence, until its signal is aborted. */
import { setTimeout as sleep } from 'node:timers/promises';
import { MongoBulkWriteError, MongoError, MongoNetworkError, MongoServerSelectionError } from 'mongodb';
import type { Logger } from '../runtime/log.ts';

/** The server is stopping, electing a primary or out of disk space: the same call may succeed later. */
const transientMongoCodes = new Set([
  6, 7, 43, 50, 89, 91, 112, 133, 134, 136, 189, 237, 262, 290, 317, 358, 9001, 10107, 11600, 11602, 13388,
  13435, 13436, 14031,
]);

/** Node connection errors, which the driver does not always wrap. */
const brokenConnection = new Set([
  'EPIPE',
  'ECONNRESET',
  'ECONNREFUSED',
  'ECONNABORTED',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);

export function isTransient(error: unknown): boolean {
  if (typeof error === 'object' && error !== null && 'retriable' in error) return error.retriable === true;
  if (error instanceof Error && 'code' in error && brokenConnection.has(String(error.code))) return true;
  if (error instanceof MongoNetworkError || error instanceof MongoServerSelectionError) return true;
  // A bulk write wraps client-side errors and drops their class and labels.
  if (error instanceof MongoBulkWriteError && error.errorResponse instanceof Error)
    return isTransient(error.errorResponse);
  if (error instanceof MongoError) {
    const labelled = [
      'RetryableWriteError',
      'TransientTransactionError',
      'ResumableChangeStreamError',
      'PoolRequestedRetry',
    ];
    if (labelled.some((label) => error.hasErrorLabel(label))) return true;
    // WiredTiger's response before the server exits: it has the generic code of an unknown error.
    if (error.message.includes('No space left on device')) return true;
    if (typeof error.code === 'number') return transientMongoCodes.has(error.code);
    return /topology|pool|connect|interrupted|socket|network|EPIPE|timed out/i.test(
      `${error.name} ${error.message}`,
    );
  }
  return false;
}

export type Retry = <T>(step: string, attempt: () => Promise<T>, signal?: AbortSignal) => Promise<T>;

interface RetryOptions {
  /** Which failures to retry. Default: transient ones. */
  when?(error: unknown): boolean;
  maxTries?: number;
  firstMs?: number;
  maxMs?: number;
  onRetry?(error: unknown): void;
  /** False: the backoff does not keep the process alive. */
  ref?: boolean;
}

/** Exponential backoff with jitter. */
export const backoff = (tries: number, firstMs: number, maxMs: number): number =>
  Math.min(maxMs, firstMs * 2 ** Math.min(tries - 1, 16)) * (0.5 + Math.random() / 2);

export function createRetry(
  log: Logger | undefined,
  {
    when = isTransient,
    maxTries = Number.POSITIVE_INFINITY,
    firstMs = 50,
    maxMs = 2_000,
    onRetry,
    ref = true,
  }: RetryOptions = {},
): Retry {
  return async (step, attempt, signal) => {
    for (let tries = 1; ; tries++) {
      signal?.throwIfAborted();
      try {
        return await attempt();
      } catch (error) {
        if (tries === maxTries || !when(error)) throw error;
        onRetry?.(error);
        const wait = backoff(tries, firstMs, maxMs);
        const reason = error instanceof Error ? error.message : String(error);
        log?.warn({ err: error, step, tries }, `retrying in ${(wait / 1_000).toFixed(1)} s: ${reason}`);
        await sleep(wait, undefined, signal ? { signal, ref } : { ref });
      }
    }
  };
}
