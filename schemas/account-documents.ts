/** What is kept about partners beside their data: what operators did. */
import type { ObjectId } from 'mongodb';

/** Stored before the action begins. One that stays `intended` was interrupted: whether it took effect is unknown. */
export type AuditOutcome = 'intended' | 'done' | 'failed';

export interface AuditDocument {
  _id: ObjectId;
  /** By the database's clock. */
  at: Date;
  /** HEADRACE_ACTOR, or the user and the host that ran the command. */
  actor: string;
  /** The command, such as `partner suspend`. */
  action: string;
  /** Whom it concerns; null if nobody, or if that was not known before an action that failed. */
  partner: string | null;
  /** Its arguments and options, without secrets. */
  details: Record<string, unknown>;
  outcome: AuditOutcome;
  /** Why it failed. */
  error?: string;
  endedAt?: Date;
}
