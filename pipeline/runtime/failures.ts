/** Counts a failure that repeats. What fails for another reason than before begins anew. */
export const MAX_FAILURES = 3;
export const FAILURE_PAUSE_MS = 1_000;

export interface Failures {
  readonly count: number;
  readonly reason: string;
  add(error: unknown): void;
}

export function countFailures(): Failures {
  let count = 0;
  let reason = '';
  return {
    get count() {
      return count;
    },
    get reason() {
      return reason;
    },
    add(error) {
      const given = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
      count = given === reason ? count + 1 : 1;
      reason = given;
    },
  };
}
