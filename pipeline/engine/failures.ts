/** Counts the failures of one piece of work. Error messages are not compared: they contain tokens, sizes and times. */
export const MAX_FAILURES = 3;
export const FAILURE_PAUSE_MS = 1_000;

export interface Failures {
  readonly count: number;
  /** The last failure's. */
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
      count++;
      reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    },
  };
}

/** A broker or connection failure: the consumer rejoins or is replaced. */
export const isFromKafka = (error: unknown) => error instanceof Error && error.name.startsWith('KafkaJS');
