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
  /** Fencing token of the computation: a process that lost its lease stores nothing. */
  token: string;
  /** Who has asked. */
  partner: string;
  customer: string | null;
  /** Among the unfinished ones of the partner and the customer; unique. */
  place: number;
  customerPlace?: number;
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
  /** How often the visibility of an attribute had been changed then. */
  visibility: number;
  /** Something was merged into the sets during the computation: the counts are no state of one moment. */
  overtaken: boolean;
  startedAt: Date;
  computedAt: Date;
  devices: number;
  matched: number;
  /** Distinct devices of all attributes; null: not counted, because the audience is empty. */
  marketplaceDevices: number | null;
  /** How many documents hold the rows of its attributes: those that devices have in common, most devices first, then by id. */
  rowParts: number;
  /** Number table: audience, its generation, its devices, the common ones. Most common devices first, then by id; none without any. */
  others: Binary;
  /** Whether all audiences were compared: of the audience's customer, and of the partner. */
  compared: { ofCustomer: boolean; ofPartner: boolean };
  events: { event: string; devices: number; rows: number }[];
}

/** What is read of a report to decide whether it may be shown. */
export type CompositionHead = Pick<
  CompositionReport,
  'token' | 'generation' | 'ended' | 'visibility' | 'overtaken' | 'computedAt'
>;

export interface CompositionDocument {
  /** The audience. */
  _id: number;
  /** Of the claim or, without one, of the report. */
  generation: number;
  claim?: CompositionClaim;
  /** The last computation failed, and no response has said so yet. */
  failedAt?: Date;
  report?: CompositionReport;
}

/** Rows of the attributes of a report, rendered (pipeline/stores/composition-rows.ts). */
export interface CompositionRowsDocument {
  /** The token of the computation, and the number of the part. */
  _id: string;
  audience: number;
  generation: number;
  index: Binary;
  json: Binary;
  csv: Binary;
  /** MongoDB removes it then. Absent: a report names it. */
  expiresAt?: Date;
}
