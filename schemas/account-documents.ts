/** What is kept about partners beside their data: what operators did, and what was loaded on each day. */
import type { ObjectId } from 'mongodb';

/** Stored before the action begins. One that stays `intended` was interrupted: whether it took effect is unknown. */
type AuditOutcome = 'intended' | 'done' | 'failed';

export interface AuditDocument {
  _id: ObjectId;
  /** By the database's clock. */
  at: Date;
  /** HEADRACE_ACTOR, or the user and the host that ran the command. */
  actor: string;
  /** The command, such as `partner suspend`. */
  action: string;
  /** The partner concerned; null if none, or unknown before the action failed. */
  partner: string | null;
  /** Its arguments and options, without secrets. */
  details: Record<string, unknown>;
  outcome: AuditOutcome;
  /** Why it failed. */
  error?: string;
  endedAt?: Date;
}

/** What a partner has loaded of the jobs that were accepted on one day (UTC), and what its dry runs have read. */
export interface UsageDocument {
  /** `<partner>/<YYYY-MM-DD>` */
  _id: string;
  /** The last job that is included. */
  job: number;
  jobs: number;
  /** Of the files as they were listed, whether they passed or not; and what dry runs have read. */
  bytes: number;
  /** Rows read, rejected ones included. */
  rows: number;
}
