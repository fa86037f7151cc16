/** A token bucket per API key, and one for all its console sessions: `perSecond` requests on average, bursts of up to `burst`. */
import { LRUCache } from 'lru-cache';
import type { Handler } from './context.ts';
import { Problem } from './problem.ts';

interface Bucket {
  tokens: number;
  at: number;
}

const MAX_KEPT = 10_000;

export function createTokenBuckets(perSecond: number, burst: number, clock = () => performance.now()) {
  const buckets = new LRUCache<string, Bucket>({ max: MAX_KEPT });

  function bucketOf(key: string): Bucket {
    const now = clock();
    let bucket = buckets.get(key);
    if (!bucket) {
      bucket = { tokens: burst, at: now };
      buckets.set(key, bucket);
    }
    bucket.tokens = Math.min(burst, bucket.tokens + ((now - bucket.at) / 1_000) * perSecond);
    bucket.at = now;
    return bucket;
  }

  return {
    /** Takes a token. Returns the number left, or less than 0 when there was none. */
    take(key: string): number {
      const bucket = bucketOf(key);
      if (bucket.tokens < 1) return bucket.tokens - 1;
      bucket.tokens -= 1;
      return bucket.tokens;
    },
    giveBack(key: string): void {
      bucketOf(key).tokens += 1;
    },
    /** What `take` would return, without taking a token. */
    look(key: string): number {
      return bucketOf(key).tokens - 1;
    },
  };
}

/** Seconds until a token is available, given the result of `take`. */
export const secondsUntil = (left: number, perSecond: number): string =>
  String(Math.max(1, Math.ceil(-left / perSecond)));

export function createLimitRate(perSecond: number, burst: number): Handler {
  const buckets = createTokenBuckets(perSecond, burst);
  const policy = `"key";q=${burst};w=${Math.ceil(burst / perSecond)}`;
  return (ctx) => {
    const left = buckets.take(ctx.state.limitedAs);
    const remaining = Math.max(0, Math.floor(left));
    const untilFull = Math.ceil((burst - Math.max(0, left)) / perSecond);
    ctx.set('RateLimit-Policy', policy);
    ctx.set('RateLimit', `"key";r=${remaining};t=${untilFull}`);
    if (left < 0)
      throw new Problem(
        'rate_limited',
        `Rate limit of ${perSecond} requests per second (burst ${burst}) exceeded. Retry after Retry-After seconds.`,
        {
          headers: {
            'Retry-After': secondsUntil(left, perSecond),
            // For clients that know only the older header names.
            'RateLimit-Limit': String(burst),
            'RateLimit-Remaining': '0',
            'RateLimit-Reset': String(untilFull),
          },
        },
      );
  };
}
