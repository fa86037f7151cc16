/** A job of the load, from its files to its outcome. */

/** Expected counts of one prefix. */
export interface ExpectedCounts {
  files: number;
  rows: number;
  devices: number;
  rejected: Record<string, number>;
}

export interface PreparedPrefix {
  /** Below the partner's own prefix; ends in a slash. */
  path: string;
  expected: ExpectedCounts;
}

export interface SubmittedJob extends PreparedPrefix {
  id: number;
  /** Jobs per second when it was submitted, in a ramp. */
  rate?: number;
}

/** Seconds between the times that the service has recorded. */
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
