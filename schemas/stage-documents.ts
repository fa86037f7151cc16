/** The documents that the stages write for each other in MongoDB, one type for each collection, like those in documents.ts. */
import type { Binary } from 'mongodb';
import type { RejectCode } from './codes.ts';
import type { FileFailure } from './documents.ts';

/** The ledger: one document for each validated batch, first writer wins. */
export interface LedgerDocument {
  /** `<job>.<attempt>.<file>.<batch>` */
  _id: string;
  job: number;
  attempt: number;
  file: number;
  batch: number;
  last: boolean;
  /** Byte range in the decompressed file: batches must join without a gap. */
  start: number;
  end: number;
  firstLine: number;
  lines: number;
  /** The byte that separates the columns: a split that resumes after this batch needs it. */
  delimiter: number;
  rows: number;
  accepted: number;
  /** Device-key pairs before the batch was deduplicated. */
  pairsRead: number;
  rejected: Partial<Record<RejectCode, number>>;
  events?: { event: string; rows: number }[];
  /** This batch alone has more than 1,000 distinct events. */
  eventsOverflow?: boolean;
  /** What was sent to each slot (formats/slot-totals.ts). Absent if nothing was sent. */
  slots?: Binary;
  failure?: FileFailure;
}

/** The result of a check: whether the slots of one partition hold all of a job. */
export interface CheckDocument {
  /** `<job>.<attempt>.<partition>` */
  _id: string;
  job: number;
  attempt: number;
  partition: number;
  /** Slots with missing devices. */
  lacking: number[];
}

/** The ack of a slot that has merged a job. First writer wins. */
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
  /** The audience's devices in this slot after the merge. */
  audienceDevices: number;
  /** Of a load: devices that were not in the audience before it, and those of them that some attribute holds. */
  newDevices: number;
  matchedDevices: number;
  /** Of an import: number table of attribute and pairs that it did not have before (formats/number-table.ts). */
  attributePairs?: Binary;
  /** A deletion that has been counted but not carried out yet: this does not count as an ack. */
  removing?: true;
}

/**
 * The last job that a slot has merged; devices of that job or an earlier one are ignored. In the same collection as the acks, so
 * that both are written in one ordered bulk write.
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

/** One slot of a device set. Replaced by a compare-and-set on its version; never removed while its set may be written. */
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

/** Devices of a job that is not merged yet, spilled by a sink that has reached its memory limit. */
export interface SpillDocument {
  _id: string;
  job: number;
  slot: number;
  /** Messages of `ingest.devices`, concatenated. */
  messages: Binary;
}

/** The offset at which a stage started on a partition, and the message that it was handling (stores/crashes.ts). */
export interface CrashDocument {
  /** `<stage>/<partition>` */
  _id: string;
  offset: string;
  /** How often the stage has started at this offset. */
  begun: number;
  /** The message that is being handled. */
  inHand: string | null;
  /** How many processes have died while handling a message, by its offset. */
  deaths: Record<string, number>;
}
