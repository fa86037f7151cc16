/** Composition reports in MongoDB: one document per audience, with its last report and the claim on computing the next. */
import type { Binary } from 'mongodb';

/** The number of ended jobs that change device sets. */
export interface EndedJobs {
  /** Imports and deletions of all partners. */
  marketplace: number;
  /** Loads of the partner's audiences. */
  loads: number;
}

export interface CompositionClaim {
  /** Fencing token of the computation: a process that lost its lease stores nothing. */
  token: string;
  /** The requester. */
  partner: string;
  customer: string | null;
  /** Unique among the claims of the partner and the customer. */
  place: number;
  customerPlace?: number;
  /** The audience's generation. */
  generation: number;
  startedAt: Date;
  heartbeat: Date;
  /** 0 to 1. */
  progress: number;
}

export interface CompositionReport {
  /** The token of the computation. */
  token: string;
  generation: number;
  /** Jobs that had ended when the computation started. */
  ended: EndedJobs;
  /** Number of visibility changes of attributes at that time. */
  visibility: number;
  /** The sets changed during the computation: the counts are not a consistent snapshot. */
  overtaken: boolean;
  startedAt: Date;
  computedAt: Date;
  devices: number;
  matched: number;
  /** Distinct devices of all attributes; null: not counted, because the audience is empty. */
  marketplaceDevices: number | null;
  /** Number of documents with the rows of its attributes, most common devices first, then by id. */
  rowParts: number;
  /**
   * Number table: audience, generation, devices, common devices. Most common devices first, then by id; without audiences that have none.
   */
  others: Binary;
  /** Whether all audiences of the customer, and of the partner, were compared. */
  compared: { ofCustomer: boolean; ofPartner: boolean };
  events: { event: string; devices: number; rows: number }[];
}

/** The fields that decide whether a report may be shown. */
export type CompositionHead = Pick<
  CompositionReport,
  'token' | 'generation' | 'ended' | 'visibility' | 'overtaken' | 'computedAt'
>;

export interface CompositionDocument {
  /** The audience. */
  _id: number;
  /** Generation of the claim or, without one, of the report. */
  generation: number;
  claim?: CompositionClaim;
  /** When the last computation failed, if no response has reported it yet. */
  failedAt?: Date;
  report?: CompositionReport;
}

/** Rendered attribute rows of a report (pipeline/stores/composition-rows.ts). */
export interface CompositionRowsDocument {
  /** `<token of the computation>/<part>` */
  _id: string;
  audience: number;
  generation: number;
  index: Binary;
  json: Binary;
  csv: Binary;
  /** TTL. Absent while a report references the rows. */
  expiresAt?: Date;
}
