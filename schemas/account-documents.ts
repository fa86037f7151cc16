/** Audit log and daily usage. */
import type { ObjectId } from 'mongodb';

/** Stored before the action starts. An entry that stays `intended` was interrupted: whether it took effect is unknown. */
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

/** A partner's usage by jobs accepted on one day (UTC), and by its dry runs. */
export interface UsageDocument {
  /** `<partner>/<YYYY-MM-DD>` */
  _id: string;
  /** The last job included. */
  job: number;
  jobs: number;
  /** Bytes of all files, passed or not, and bytes read by dry runs. */
  bytes: number;
  /** Rows read, including rejected ones. */
  rows: number;
}
