/** The documents that the stages write for each other in MongoDB, one type for each collection, like those in documents.ts. */
import type { Binary } from 'mongodb';
import type { RejectCode } from './codes.ts';
import type { FileFailure } from './job-documents.ts';

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
  /** The distinct ones of them. */
  pairs: number;
  rejected: Partial<Record<RejectCode, number>>;
  events?: { event: string; rows: number }[];
  /** This batch alone has more than 1,000 distinct events. */
  eventsOverflow?: boolean;
  /** What was sent to each slot (formats/slot-totals.ts). Absent if nothing was sent. */
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
  /** Why the partition cannot vote on the job or commit it: it failed repeatedly. */
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
  /** Distinct pairs by file, for the files that passed: [file, pairs, file, pairs, …]. Empty if they are in pages. */
  filePairs: number[];
  /** How many files the pages span, if there are pages. */
  pagedFiles?: number;
  /** The audience's devices in this slot after the merge; those that are new with it; and those of them that have an attribute. */
  audienceDevices: number;
  newDevices: number;
  matchedDevices: number;
  /** Distinct devices that were left out because they are suppressed, and the same by file (packCounts); absent: none. */
  suppressed?: number;
  suppressedByFile?: Binary;
  /** Of a privacy request: audience, generation, devices removed, and matches among them, of each audience (packNumbers). */
  audiences?: Binary;
  /** Pairs added by attribute, of an import, or removed, of a deletion (packCounts in formats/number-table.ts). */
  attributePairs?: Binary;
  /** The job was dropped before the slot had merged it: nothing of it is stored here. */
  dropped?: true;
  /** It was dropped when the slot had merged it but not counted it: the devices and pairs are those that were new. */
  onlyNew?: true;
}

/** Distinct pairs by file of an ack that would be too large with them: those of the files of one page. */
export interface FilePairsDocument {
  /** `<job>.<slot>.<page>` */
  _id: string;
  job: number;
  slot: number;
  page: number;
  /** As in an ack, packed (formats/number-table.ts). */
  pairs: Binary;
}

/** Which files of a job pass, if they are too many to list in the job: a bit for each file. Never changed. */
export interface VerdictDocument {
  /** `<job>-<unique>`: each dispatcher that decides writes its own, and the job names the one that counts. */
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
  /** The row as in the file, or as much of it as is kept. */
  rows: { line: number; code: RejectCode; raw: string; isCut?: true }[];
  /** Of identifiers that the rows hold: the hashes that they are placed by. */
  hashes?: number[];
}

/**
 * One slot of a space: where its devices are, the jobs that changed it last, and what they added. Replaced by a compare-and-set on
 * its version; never removed while the space may be written.
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
  /** The last job of each partner that changed it; of jobs before `endedBefore`, which have all ended, none is kept. */
  merged: { partner: string; job: number }[];
  endedBefore: number;
  /** What the last change brought, by job, and earlier ones that may not have been acknowledged. */
  changes: ManifestChange[];
  regions: RegionEntry[];
  /** Documents that the last change has replaced, by the ranges of their ids: removed with it or, if that failed, with the next one. */
  replaced: { from: string; to: string }[];
  /** An erasure that is counted, and not complete: where its devices are named, and the keys that they lose (absent: all). */
  erasing?: { regions: RegionEntry[]; keys?: number[] };
}

/** What a job added to a slot or removed from it. Of several that were merged together, the last has the devices of all. */
interface ManifestChange {
  job: number;
  /** Devices that are new (a deletion: that have lost a key). */
  devices: number;
  /** Of the new ones, those that some attribute held. */
  matched: number;
  /** Pairs added, or removed, by key (packCounts in formats/number-table.ts). */
  pairs: Binary;
  /** Devices that were left out, by file (packCounts), and how many are distinct; absent: none. */
  suppressedByFile?: Binary;
  suppressed?: number;
  /** The job was dropped and changed nothing. Such an entry stays: a replaced owner that still tries to merge the job finds it. */
  dropped?: true;
}

/** A prefix of the address, and the levels that hold its devices, the largest first. */
export interface RegionEntry {
  start: number;
  /** The length of the prefix. */
  bits: number;
  /** Of a single address that has too many devices for one region: the first identifier, and the first one behind it. */
  from?: string;
  to?: string;
  levels: LevelEntry[];
}

/** Devices of a region that were written together, in pages by longer prefixes. */
export interface LevelEntry {
  token: string;
  /** The length of the pages' prefixes. */
  pageBits: number;
  /** Of a single address: pages are numbered, in the order of identifiers. */
  numbered?: true;
  /** How many there are: a reader that finds fewer has been overtaken by a writer. */
  pages: number;
  bytes: number;
}

/** A page of a level: removed when no manifest names its level, and until then changed only by an erasure, which takes devices out. */
export interface PageDocument {
  /** `<manifest>:<token>:<start of the page, or its number>` */
  _id: string;
  /** Identifiers of 16 bytes, sorted by the hash. */
  d: Uint8Array;
  /** The keys of each (sets/page-format.ts). */
  k: Uint8Array;
  /** How often it was changed; absent: never. */
  v?: number;
}

/** Among the pages: that an edit which takes long was still at work (sets/lease.ts). */
export interface RenewalDocument {
  /** `<manifest>:<token>` */
  _id: string;
  renewedAt: Date;
}

/** Devices of a job that is not merged yet, spilled by a sink that has reached its memory limit. */
export interface SpillDocument {
  _id: string;
  job: number;
  slot: number;
  /** Which part of the slot's addresses it holds; -1: what was spilled, as numbers. */
  range: number;
  /** Messages of `ingest.devices`, concatenated, with the devices of the range; or file, batch, part, pairs and checksum of each. */
  messages: Binary;
  /** Of a document with numbers: the bytes of their messages. */
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
  /** Who began at this offset, and has not left the partition alive. */
  owners: string[];
  /** The message that is being handled. */
  inHand: string | null;
  /** How many processes have died while handling a message, by its offset. */
  deaths: Record<string, number>;
}

/** What a slot has found for a privacy request; known before anything of it is removed. */
export interface RequestResultDocument {
  /** `<job>.<slot>` */
  _id: string;
  job: number;
  slot: number;
  /** Distinct devices of the request that something was stored of. */
  found: number;
  /** Spaces that hold some of them. */
  spaces: string[];
  /** Of an access request: what is stored of them, as JSON; encrypted. */
  sealed?: Binary;
  createdAt: Date;
}

/** Identifiers of a privacy request, encrypted, in parts. */
export interface IdentifierListDocument {
  /** `<list>.<part>` */
  _id: string;
  list: string;
  part: number;
  /** Of the text. */
  bytes: number;
  sealed: Binary;
  createdAt: Date;
}
