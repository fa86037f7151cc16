/** The composition reports of audiences in MongoDB: one document for each audience, with its last report and who computes the next. */
import type { Binary } from 'mongodb';

/** How far the jobs had come that change device sets: the last one that had ended. Jobs end in their order. */
export interface EndedJobs {
  /** The last import or deletion, of all partners. */
  marketplace: number;
  /** The last load of one of the partner's audiences. */
  loads: number;
}

export interface CompositionClaim {
  /** Unique for each computation: whoever has lost the claim stores nothing. */
  token: string;
  /** Of the audience. */
  generation: number;
  startedAt: Date;
  heartbeat: Date;
  /** 0 to 1. */
  progress: number;
}

export interface CompositionReport {
  /** That of the computation. */
  token: string;
  generation: number;
  /** What had ended when the computation began. */
  ended: EndedJobs;
  /** Something was merged into the sets during the computation: the counts are no state of one moment. */
  overtaken: boolean;
  computedAt: Date;
  devices: number;
  matched: number;
  /** Distinct devices of all attributes; null: not counted, because the audience is empty. */
  marketplaceDevices: number | null;
  /** Number table: attribute, its devices, the common ones. Most common devices first, then by id. */
  attributes: Binary;
  /** Number table: audience, its generation, its devices, the common ones. Most common devices first, then by id. */
  others: Binary;
  events: { event: string; devices: number; rows: number }[];
}

/** What is read of a report to decide whether it may be shown. */
export type CompositionHead = Pick<
  CompositionReport,
  'token' | 'generation' | 'ended' | 'overtaken' | 'computedAt'
>;

export interface CompositionDocument {
  /** The audience. */
  _id: number;
  /** Of the claim or, without one, of the report. */
  generation: number;
  claim?: CompositionClaim;
  /** The last computation failed, and nobody has been told. */
  failedAt?: Date;
  report?: CompositionReport;
}
