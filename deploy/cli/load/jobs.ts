/** A job of the load test, from its files to its outcome. */

/** Expected counts of one prefix. */
export interface ExpectedCounts {
  files: number;
  rows: number;
  devices: number;
  rejected: Record<string, number>;
}

export interface PreparedPrefix {
  /** Relative to the partner's prefix; ends in a slash. */
  path: string;
  expected: ExpectedCounts;
}

export interface SubmittedJob extends PreparedPrefix {
  id: number;
  /** In a ramp: the rate at which it was submitted, in jobs per second. */
  rate?: number;
}

/** Seconds, from the times recorded by the service. */
export interface JobTimes {
  /** In the queue, until its files are listed. */
  waiting: number;
  loading: number;
  /** From the last row read to the end; includes waiting for earlier jobs. */
  merging: number;
  total: number;
}

export interface CountCheck {
  what: string;
  expected: number;
  found: number;
}

export interface VerifiedJob extends SubmittedJob {
  status: number;
  /** Milliseconds, by the clock of the service. */
  createdAt: number;
  endedAt: number;
  times: JobTimes;
  checks: CountCheck[];
  errors: { code: string; message: string }[];
}

export const isWrong = ({ expected, found }: CountCheck): boolean => expected !== found;
