/** MongoDB documents that the stages write for each other, one type per collection. */
import type { Binary } from 'mongodb';
import type { RejectCode } from './codes.ts';
import type { FileFailure } from './job-documents.ts';

/** The ledger: one document per validated batch, first writer wins. */
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
  /** The delimiter, needed to resume splitting after this batch. */
  delimiter: number;
  rows: number;
  accepted: number;
  /** Device-key pairs before the batch was deduplicated. */
  pairsRead: number;
  /** Distinct pairs. */
  pairs: number;
  rejected: Partial<Record<RejectCode, number>>;
  events?: { event: string; rows: number }[];
  /** This batch alone has more than 1,000 distinct events. */
  eventsOverflow?: boolean;
  /** Totals sent to each slot (formats/slot-totals.ts). Absent if nothing was sent. */
  slots?: Binary;
  failure?: FileFailure;
}

/** The vote of a partition's slots: whether they hold all of a job. */
export interface VoteDocument {
  /** `<job>.<attempt>.<partition>` */
  _id: string;
  job: number;
  attempt: number;
  partition: number;
  /** Slots with missing devices. */
  missing: number[];
  /** Why the partition repeatedly failed to vote on the job or to commit it. */
  failure?: string;
}

/** The ack of a slot that has merged a job. First writer wins. */
export interface AckDocument {
  /** The job's number times the number of slots, plus the slot. */
  _id: number;
  job: number;
  slot: number;
  /** Distinct devices of the job in this slot. */
  uniqueDevices: number;
  /** Pairs received for the files that passed (a deletion: pairs removed). */
  pairs: number;
  /** Distinct pairs by file, for the files that passed: [file, pairs, file, pairs, …]. Empty if stored in pages. */
  filePairs: number[];
  /** Number of files in pages, if there are pages. */
  pagedFiles?: number;
  /** The audience's devices in this slot after the merge; the new ones; and the new ones that have an attribute. */
  audienceDevices: number;
  newDevices: number;
  matchedDevices: number;
  /** Distinct suppressed devices, in total and by file (packCounts); absent: none. */
  suppressed?: number;
  suppressedByFile?: Binary;
  /** Privacy requests: audience, generation, devices removed, and matches among them, for each audience (packNumbers). */
  audiences?: Binary;
  /** Pairs by attribute, added (import) or removed (deletion) (packCounts in formats/number-table.ts). */
  attributePairs?: Binary;
  /** The job was dropped before the slot merged it: nothing of it is stored here. */
  dropped?: true;
  /** It was dropped after the slot merged it but before it was counted: devices and pairs include only new ones. */
  onlyNew?: true;
}

/** One page of distinct pairs by file, for an ack that would otherwise be too large. */
export interface FilePairsDocument {
  /** `<job>.<slot>.<page>` */
  _id: string;
  job: number;
  slot: number;
  page: number;
  /** As in an ack, packed (formats/number-table.ts). */
  pairs: Binary;
}

/** The files of a job that pass, if they are too many to list in the job: a bitmap. Immutable. */
export interface VerdictDocument {
  /** `<job>-<unique>`: each deciding dispatcher writes its own, and the job references the valid one. */
  _id: string;
  job: number;
  passed: Binary;
  collapsed: Binary;
}

/**
 * The last job that a slot has merged; devices of that job or an earlier one are ignored. In the same collection as the
 * acks, which are written before it.
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
  /** The row as in the file, possibly cut. */
  rows: { line: number; code: RejectCode; raw: string; isCut?: true }[];
  /** Placement hashes of the identifiers in the rows. */
  hashes?: number[];
}

/**
 * One slot of a space: where its devices are, the jobs that changed it last, and what they added. Replaced by a compare-and-set on its
 * version; never removed while the space may be written.
 */
export interface ManifestDocument {
  /** `<space>#<slot>` */
  _id: string;
  space: string;
  slot: number;
  version: number;
  /** The key by which its devices are placed (sets/placement.ts). */
  placement: string;
  /** Distinct devices. */
  devices: number;
  /** The address of each, 4 bytes (sets/slot-addresses.ts). Absent: the slot has, or had, too many devices to list them. */
  addresses?: Binary;
  /** The last job of each partner that changed it, without jobs before `endedBefore`, which have all ended. */
  merged: { partner: string; job: number }[];
  endedBefore: number;
  /** The changes of the last edit, by job, and earlier ones that may be unacknowledged. */
  changes: ManifestChange[];
  regions: RegionEntry[];
  /** Deletions that other edits may interrupt: what they have removed, and the last region (without levels) that they have done. */
  removing?: { partner: string; change: ManifestChange; last: RegionEntry }[];
  /** Id ranges of the documents that the last edit replaced: removed after it or, if that failed, by the next edit. */
  replaced: { from: string; to: string }[];
  /** A pending erasure, already counted: where its devices are listed, and the keys that they lose (absent: all). */
  erasing?: { regions: RegionEntry[]; keys?: number[] };
}

/** What a job added to or removed from a slot. If several jobs shared a merge, the last has the devices of all. */
interface ManifestChange {
  job: number;
  /** New devices; for a deletion, devices that lost a key. */
  devices: number;
  /** New devices that have an attribute. */
  matched: number;
  /** Pairs added, or removed, by key (packCounts in formats/number-table.ts). */
  pairs: Binary;
  /** Suppressed devices by file (packCounts), and distinct ones in total; absent: none. */
  suppressedByFile?: Binary;
  suppressed?: number;
  /** The job was dropped. The entry stays as a fence against a zombie owner that still tries to merge the job. */
  dropped?: true;
}

/** An address prefix and the levels that hold its devices, largest first. */
export interface RegionEntry {
  start: number;
  /** Length of the prefix. */
  bits: number;
  /** For a single address with too many devices for one region: the first identifier, and the first of the next region. */
  from?: string;
  to?: string;
  levels: LevelEntry[];
}

/** Devices of a region that were written together, in pages by longer prefixes. */
export interface LevelEntry {
  token: string;
  /** Length of the pages' prefixes. */
  pageBits: number;
  /** For a single address: pages are numbered in the order of identifiers. */
  numbered?: true;
  /** Number of pages: a reader that finds fewer lost a race with a writer. */
  pages: number;
  bytes: number;
}

/** A page of a level: removed when no manifest references its level. Until then only an erasure changes it. */
export interface PageDocument {
  /** `<manifest>:<token>:<start of the page, or its number>` */
  _id: string;
  /** Identifiers of 16 bytes, sorted by the hash. */
  d: Uint8Array;
  /** The keys of each (sets/page-format.ts). */
  k: Uint8Array;
  /** Number of changes; absent: 0. */
  v?: number;
}

/** Stored among the pages: renewal of the lease of a long edit (sets/lease.ts). */
export interface RenewalDocument {
  /** `<manifest>:<token>` */
  _id: string;
  renewedAt: Date;
}

/** Devices of an uncommitted job, spilled by a sink that reached its memory limit. */
export interface SpillDocument {
  _id: string;
  job: number;
  slot: number;
  /** Address range within the slot; -1: totals of a spill. */
  range: number;
  /** Concatenated messages of `ingest.devices` with the devices of the range; for totals: file, batch, part, pairs, checksum of each. */
  messages: Binary;
  /** For totals: the bytes of their messages. */
  bytes?: number;
}

/**
 * The offset at which a stage started on a partition, and the message that it was handling; for the sink, the job that it was merging
 * (stores/crashes.ts).
 */
export interface CrashDocument {
  /** `<stage>/<partition>` */
  _id: string;
  offset: string;
  /** Owners that started at this offset and did not leave the partition cleanly. */
  owners: string[];
  /** The message being handled. */
  inHand: string | null;
  /** Number of processes that died while handling a message, by offset. */
  deaths: Record<string, number>;
}

/** What a slot found for a privacy request; stored before anything is removed. */
export interface RequestResultDocument {
  /** `<job>.<slot>` */
  _id: string;
  job: number;
  slot: number;
  /** Distinct devices of the request with stored data. */
  found: number;
  /** Spaces that hold any of them. */
  spaces: string[];
  /** Access requests: the stored data as JSON, encrypted; of a large answer, the last part. */
  sealed?: Binary;
  /** The parts before it: the token is in their ids. */
  before?: { token: string; parts: number };
  /** Of an access request: it expires. Absent: it is removed with the job. */
  createdAt?: Date;
}

/** A part of a large answer to an access request, in the same collection as the result of the slot. */
export interface AnswerPartDocument {
  /** `<job>.<slot>.<token>.<part>` */
  _id: string;
  job: number;
  slot: number;
  part: number;
  sealed: Binary;
  createdAt: Date;
}

/** Identifiers of a privacy request, encrypted, in parts. */
export interface IdentifierListDocument {
  /** `<list>.<part>` */
  _id: string;
  list: string;
  part: number;
  /** Size of the text. */
  bytes: number;
  sealed: Binary;
  createdAt: Date;
}
