import { setTimeout as sleep } from 'node:timers/promises';

/** A wait fails after this long without any change. Only a hang takes as long: a slow host makes a test slow, not red. */
export const QUIET_MS = 600_000;

/** Progress costs a query, so it is read only this often. */
const LOOK_MS = 5_000;

/** By default the pauses grow with the wait, because a look costs CPU time on both sides. */
const MIN_PAUSE_MS = 50;
const MAX_PAUSE_MS = 250;

interface WaitForOptions {
  /** Named in the error message. */
  readonly what: string;
  /** For a state that does not last. */
  readonly everyMs?: number;
  /** A value that changes while there is progress. Each change restarts the QUIET_MS timeout. */
  readonly progress?: () => Promise<unknown> | unknown;
  readonly quietMs?: number;
}

const shown = (value: unknown) => (value instanceof Error ? value.message : JSON.stringify(value));

/** Polls until the answer is truthy, and returns it. Repeats a call that throws; the error message quotes the last error. */
export async function waitFor<T>(
  ask: () => Promise<T> | T,
  { what, everyMs, progress = () => undefined, quietMs = QUIET_MS }: WaitForOptions,
): Promise<NonNullable<T>> {
  let last: unknown;
  let state: string | undefined;
  const began = performance.now();
  let changedAt = began;
  let lookedAt = began;
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
    const grown = Math.min(MAX_PAUSE_MS, (performance.now() - began) / 10);
    await sleep(everyMs ?? Math.max(MIN_PAUSE_MS, grown));
  }
  const progressed = state === undefined ? '' : `; progress: ${state}`;
  throw new Error(
    `no progress for ${quietMs / 1000} s, waiting for ${what}; last: ${shown(last)}${progressed}`,
  );
}
