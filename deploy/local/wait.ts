import { setTimeout as sleep } from 'node:timers/promises';

interface WaitOptions {
  readonly deadlineMs: number;
  readonly everyMs?: number;
  readonly signal?: AbortSignal;
}

/** Polls until the result is neither false nor undefined; returns undefined after the deadline. */
export async function poll<T>(
  ask: () => Promise<T | undefined | false> | T | undefined | false,
  { deadlineMs, everyMs = 50, signal }: WaitOptions,
): Promise<T | undefined> {
  const end = performance.now() + deadlineMs;
  for (;;) {
    signal?.throwIfAborted();
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer;
    if (performance.now() >= end) return undefined;
    await sleep(everyMs, undefined, { signal });
  }
}
