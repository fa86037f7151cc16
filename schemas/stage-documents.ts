/** What the stages write for each other in MongoDB: one type a collection, like those in documents.ts. */
import type { Binary } from 'mongodb';
import type { RejectCode } from './codes.ts';
import type { FileFailure } from './documents.ts';

/** The ledger: one document a validated batch, first writer wins. */
export interface LedgerDocument {
  /** `<job>.<attempt>.<file>.<batch>` */
  _id: string;
  job: number;
  attempt: number;
  file: number;
  batch: number;
  last: boolean;
  /** Bytes of the unpacked file, so that batches must join without a gap. */
  start: number;
  end: number;
  firstLine: number;
  lines: number;
  /** The byte between columns: what a split that resumes here must know. */
  delimiter: number;
  rows: number;
  accepted: number;
  /** Distinct pairs of device and key that were sent on, over all slots. */
  pairs: number;
  /** Pairs of device and key before the batch was deduplicated. */
  pairsRead: number;
  rejected: Partial<Record<RejectCode, number>>;
  events?: { event: string; rows: number }[];
  /** More than 1,000 event values in this batch alone. */
  eventsOverflow?: boolean;
  /** What was sent to each slot (formats/slot-totals.ts). Absent where nothing was. */
  slots?: Binary;
  failure?: FileFailure;
}

/** A sink's answer whether the slots of one partition hold all of a job. */
export interface CheckDocument {
  /** `<job>.<attempt>.<partition>` */
  _id: string;
  job: number;
  attempt: number;
  partition: number;
  /** Slots that lack something. */
  lacking: number[];
}

/** A slot's acknowledgement that it has merged a job. First writer wins. */
export interface AckDocument {
  /** `<job>.<slot>` */
  _id: string;
  job: number;
  slot: number;
  /** Distinct devices of the job in this slot. */
  uniqueDevices: number;
  /** Pairs received for the files that passed (a deletion: pairs removed). */
  pairs: number;
  /** Distinct pairs by file, for the files that passed: [file, pairs, file, pairs, …]. */
  filePairs: number[];
  /** An audience's devices in this slot after the merge, and those that some attribute holds too. */
  audienceDevices: number;
  matchedDevices: number;
  /** A deletion that has been counted and is not carried out yet: this does not count as an acknowledgement. */
  removing?: true;
}

/**
 * The last job that a slot has merged; nothing of that job or an earlier one is taken again. Beside the acknowledgements, so
 * that both are written in one go, in order.
 */
export interface SlotDocument {
  /** `slot <number>` */
  _id: string;
  committedJob: number;
}

/** Rejected rows of one batch. */
export interface RejectsDocument {
  /** `<job>.<file>.<batch>` */
  _id: string;
  job: number;
  file: number;
  batch: number;
  rows: { line: number; code: RejectCode; raw: string }[];
}

/** A device set's part in one slot. Replaced with a compare-and-set on its version; never removed while its set may be written. */
export interface ManifestDocument {
  /** `<set>#<slot>` */
  _id: string;
  set: string;
  slot: number;
  version: number;
  count: number;
  /** Sorted identifiers that are not in any chunk. */
  inline: Binary;
  /** Immutable sorted chunks. No identifier is in two of them. */
  chunks: { id: string; first: Binary; last: Binary; count: number }[];
}

export interface ChunkDocument {
  /** `<manifest id>@<unique>` */
  _id: string;
  set: string;
  slot: number;
  devices: Binary;
}

/** Devices of a job that is not merged yet, spilled by a sink that was out of memory. */
export interface SpillDocument {
  _id: string;
  job: number;
  slot: number;
  /** Messages of `ingest.devices` as they came, back to back. */
  messages: Binary;
}

/** Where a stage's partition was begun, and what was in hand there (stores/crashes.ts). */
export interface CrashDocument {
  /** `<stage>/<partition>` */
  _id: string;
  offset: string;
  /** How often it was begun at this offset. */
  begun: number;
  inHand: string | null;
  /** How many processes have died with it in hand. */
  deaths: number;
}
