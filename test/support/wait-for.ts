import { setTimeout as sleep } from 'node:timers/promises';

/** For what comes at once on an idle machine. */
export const WAIT_MS = 180_000;

/**
 * A round is over in much less. Where it takes longer, the machine is busy with others or stands still, and what is awaited does
 * too: what is more than this counts only a fifth.
 */
const ROUND_MS = 250;

export interface WaitForOptions {
  /** What is awaited, for the message when it does not come. */
  readonly what: string;
  readonly deadlineMs?: number;
  readonly everyMs?: number;
}

/** Asks until the answer is truthy, and returns it. An ask that throws is asked again; the last error is told at the deadline. */
export async function waitFor<T>(
  ask: () => Promise<T> | T,
  { what, deadlineMs = WAIT_MS, everyMs = 50 }: WaitForOptions,
): Promise<NonNullable<T>> {
  let last: unknown;
  for (let waited = 0; waited < deadlineMs; ) {
    const from = performance.now();
    try {
      const answer = await ask();
      if (answer) return answer;
      last = answer;
    } catch (error) {
      last = error;
    }
    await sleep(everyMs);
    const took = performance.now() - from;
    const usual = Math.min(took, everyMs + ROUND_MS);
    waited += usual + (took - usual) / 5;
  }
  const shown = last instanceof Error ? last.message : JSON.stringify(last);
  throw new Error(`waited ${deadlineMs / 1000} s for ${what}; last: ${shown}`);
}
