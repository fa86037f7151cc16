/** Submits jobs at a fixed rate, whether or not the service keeps up (open-loop load). */
import { setTimeout as sleep } from 'node:timers/promises';
import type { PreparedPrefix } from './jobs.ts';

/** Maximum requests in flight. */
const MAX_AT_ONCE = 16;

interface Submitting {
  count: number;
  /** Jobs per second; undefined: all at once. */
  rate?: number;
  signal: AbortSignal;
  submit(prefix: PreparedPrefix): Promise<void>;
}

/** Uses the prefixes round-robin. Waits for requests in flight, even after a failure. */
export async function submitJobs(
  prefixes: readonly PreparedPrefix[],
  { count, rate, signal, submit }: Submitting,
): Promise<void> {
  const since = performance.now();
  const inFlight = new Set<Promise<void>>();
  let failure: { reason: unknown } | undefined;
  const begin = (prefix: PreparedPrefix) => {
    const request = submit(prefix)
      .catch((reason) => {
        failure ??= { reason };
      })
      .finally(() => inFlight.delete(request));
    inFlight.add(request);
  };
  try {
    for (let n = 0; n < count && !failure; n++) {
      if (inFlight.size >= MAX_AT_ONCE) await Promise.race(inFlight);
      const waitMs = rate === undefined ? 0 : since + (n * 1_000) / rate - performance.now();
      if (waitMs > 0) await sleep(waitMs, undefined, { signal });
      signal.throwIfAborted();
      begin(prefixes[n % prefixes.length]!);
    }
  } finally {
    await Promise.all(inFlight);
  }
  if (failure) throw failure.reason;
}
