import { setTimeout as sleep } from 'node:timers/promises';

/**
 * How long nothing may change before a wait gives up. Only a hang takes as long: a starved host makes a test slow, not red.
 */
export const QUIET_MS = 600_000;

/** Progress costs a query: it is looked at once in a while. */
const LOOK_MS = 5_000;

interface WaitForOptions {
  /** What is awaited, for the message if it does not come. */
  readonly what: string;
  readonly everyMs?: number;
  /** Anything that changes while there is progress; each change gives the wait another QUIET_MS. */
  readonly progress?: () => Promise<unknown> | unknown;
  readonly quietMs?: number;
}

const shown = (value: unknown) => (value instanceof Error ? value.message : JSON.stringify(value));

/** Asks until the answer is truthy, and returns it. An ask that throws is repeated; the last error is part of the message. */
export async function waitFor<T>(
  ask: () => Promise<T> | T,
  { what, everyMs = 50, progress = () => undefined, quietMs = QUIET_MS }: WaitForOptions,
): Promise<NonNullable<T>> {
  let last: unknown;
  let state: string | undefined;
  let changedAt = performance.now();
  let lookedAt = changedAt;
  for (;;) {
    try {
      const answer = await ask();
      if (answer) return answer;
      last = answer;
      if (performance.now() - lookedAt > LOOK_MS) {
        lookedAt = performance.now();
        const now = shown(await progress());
        if (now !== state) changedAt = performance.now();
        state = now;
      }
    } catch (error) {
      last = error;
    }
    if (performance.now() - changedAt > quietMs) break;
    await sleep(everyMs);
  }
  const progressed = state === undefined ? '' : `; progress: ${state}`;
  throw new Error(
    `no progress for ${quietMs / 1000} s, waiting for ${what}; last: ${shown(last)}${progressed}`,
  );
}
