import { poll } from '../../deploy/local/wait.ts';

/** For what comes at once on an idle machine: the one that runs the tests may be ten times slower, and pause for seconds. */
export const WAIT_MS = 180_000;

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
  const answer = await poll(
    async () => {
      try {
        last = await ask();
        return last ? { value: last as NonNullable<T> } : undefined;
      } catch (error) {
        last = error;
        return undefined;
      }
    },
    { deadlineMs, everyMs },
  );
  if (answer) return answer.value;
  const shown = last instanceof Error ? last.message : JSON.stringify(last);
  throw new Error(`waited ${deadlineMs / 1000} s for ${what}; last: ${shown}`);
}
