/**
 * Jobs and their files, as MongoDB holds them. Identifiers of jobs grow without gaps in the order in which jobs were accepted
 * (api/jobs/accept-queue.ts says how).
 */
import type { Binary } from 'mongodb';
import type { FileFailureCode, JobFailureCode, RejectCode } from './codes.ts';

export const JobStatus = { pending: 0, running: 1, done: 2, error: 3 } as const;
export type JobStatus = (typeof JobStatus)[keyof typeof JobStatus];

export const LogType = { import: 0, deletion: 1 } as const;

/**
 * accepted → listed → decided → ended. Between listed and decided a job is loaded (its ledger is complete) and the slots vote; between
 * decided and ended they commit and acknowledge. Or accepted → withdrawn: its request was answered with an error. Each transition is a
 * compare-and-set on the phase, so of two dispatchers only one makes it.
 */
export type JobPhase = 'accepted' | 'withdrawn' | 'listed' | 'decided' | 'ended';

export interface JobError {
  code: FileFailureCode | JobFailureCode;
  message: string;
  file?: string;
  line?: number;
  count?: number;
}

/** The decision about a job, as its markers carry it. */
export interface JobVerdict {
  /** Files to merge, as ranges: first, last, first, last, … Of a stored verdict, one range from the first to the last of them. */
  passed: number[];
  /** Files with more than 1,000 distinct events, which are stored as one event. */
  collapsed: number[];
  /** The duplicates of every file are known already: the sinks need not count pairs by file. */
  filesCounted?: true;
  /** Where both lists are stored (stores/verdicts.ts), if they are too long for a job and its markers. */
  stored?: string;
  /** The attempt in which it was decided. */
  attempt: number;
  /** Some of these files have event values, which are numbered before the job is merged. */
  hasEvents?: true | undefined;
  /** What each slot must hold of the files that passed: a count and a checksum, packed (formats/slot-totals.ts) to keep jobs small. */
  expected: Binary;
}

/** The pages of a listing that are stored. */
export interface PartialListing {
  listing: string;
  /** The last key of the last page. */
  after: string;
  /** Objects found so far, and those of them that are files of the job: without those that the audience has loaded. */
  found: number;
  files: number;
  bytes: number;
  prefixMatches: string[];
}

export const jobKinds = ['import', 'delete', 'audience', 'privacy'] as const;
export type JobKind = (typeof jobKinds)[number];

export const privacyTypes = ['delete', 'access', 'restore'] as const;
export type PrivacyType = (typeof privacyTypes)[number];

/** Instead of a partner: a request of the operator that concerns the data of all. No partner has this id. */
export const EVERYONE = '*';

export interface JobDocument {
  /** The import_log_id, the load_id of an audience's load, or the request_id of a privacy request. */
  _id: number;
  kind: JobKind;
  /** Whose data it changes, and whose jobs it is in order with. */
  partner: string;
  /** Of a privacy request. */
  privacy?: PrivacyType;
  /** The list of its identifiers (pipeline/stores/identifier-lists.ts), unless they are in a file; erased when it ends. */
  identifiers?: string;
  /** Of a privacy request: why it was made, and by whom, as far as that is known. */
  source?: string;
  reason?: string;
  /** Set for a request with an Idempotency-Key; unique. */
  requestToken?: string;
  /** A process other than the one accepting it has already returned its number, so it can no longer be withdrawn. */
  promised?: true;
  /** The span of the request that it came with, if that is traced. */
  traceparent?: string;
  phase: JobPhase;
  status: JobStatus;
  /** As submitted; '' for a deletion. */
  filePath: string;
  pathType: 0 | 1;
  keyType: 0 | 1 | null;
  /** 'auto': by the extension of each file. Null: not given, which a prefix needs. */
  compressed: boolean | 'auto' | null;
  /** Encrypted; erased when the job ends. */
  credentials?: Binary | null;
  region?: string | null;
  /** Of a deletion: the keys as submitted, and the attributes that they refer to. */
  keys: string[] | null;
  attributes: number[] | null;
  /** The attribute sequence at acceptance: later attributes are unknown to this job, even in a later attempt. */
  attributesAsOf: number;
  audience: number | null;
  generation: number | null;
  /** The first job of an audience creates the audience if the API died before it could. */
  audienceName?: string;
  customer?: string | null;

  /** How far its files are listed, while a listing of several pages is being stored. */
  listed?: PartialListing;
  /** The id of the frozen listing. */
  listing?: string;
  /** If its path is a prefix that does not end in a slash: some of what begins so, up to the next slash. Known when it is listed. */
  prefixMatches?: string[];
  /** How often its files have been dispatched again because something was lost; absent means 0. */
  attempt?: number;
  /** Set by an operator: the job ends with `cancelled`. */
  cancelRequested?: true;
  /** Why the service failed to process it: for the operator, not for the partner. */
  internalReason?: string;
  /** Since when its merge is given up: it and the jobs behind it in its lane wait until an operator retries or drops it. */
  stoppedAt?: Date;
  /** Of an ended job: its position among all that have ended. */
  endNumber?: number;
  /** An operator has dropped it, although it was decided: slots that have not merged it never will. */
  dropRequested?: true;
  /** Of a dropped job: the slots that have merged it, and those that have not. */
  dropped?: { merged: number[]; notMerged: number[] };
  /** The last status may not have been published yet. */
  statusUnpublished?: true;
  fileCount: number;
  /** Bytes of all files as listed. */
  bytes?: number;
  /** What all files came to, unpacked, as far as they were read: what quotas count. Absent: as listed. */
  unpackedBytes?: number;
  /** Its files are not read any further until there is room to read ahead of the oldest job of its lane. */
  onHold?: true;
  filesDone: number;
  /** How many of `bytes` have been read, while it is loading; estimated for compressed files that are being read. */
  bytesDone?: number;
  rows: number;
  /** Valid rows, and invalid ones by reason, of all files. Known when it is decided. */
  accepted?: number;
  rejected?: Partial<Record<RejectCode, number>>;
  uniqueDevices: number;
  /** Distinct devices that were left out because they are suppressed; absent means 0. */
  suppressed?: number;
  /** Of an ended load: the devices of its generation of the audience after it, and how many of them it brought. */
  audienceDevices?: number;
  newDevices?: number;
  errors: JobError[] | null;
  /** Written once, when the job is decided, so that the marker is the same however often it is sent. */
  verdict?: JobVerdict;
  createdAt: Date;
  /** When dispatch began to list its files. */
  listingAt?: Date;
  /** When its files were listed, or when it was decided if it has none. */
  startedAt?: Date;
  /** When it was decided. */
  decidedAt?: Date;
  /** Final once the job has ended. */
  updatedAt: Date;
}

export interface FileFailure {
  code: FileFailureCode;
  message: string;
  line?: number;
  count?: number;
}

export interface FileDocument {
  /** `<listing>.<number>` */
  _id: string;
  job: number;
  listing: string;
  /** 0-based position in the job's frozen list. */
  number: number;
  audience: number | null;
  generation: number | null;
  /** The path as the partner knows it, including the issued prefix (or the key in the partner's own bucket). */
  path: string;
  etag: string;
  /** Of an audience's file: what it is looked up by when it is appended again (pipeline/stores/files.ts). */
  identity?: string;
  size: number;
  compressed: boolean;
  batchBytes: number;
  /** By how many bytes it is larger unpacked than stored, as far as it was read; absent means 0. */
  grown?: number;
  /** 0: pending; 1: dispatched; 2 and 3: decided. */
  status: JobStatus;
  /** The attempt of the job in which the file was decided; absent means 0. */
  attempt?: number;
  rows: number;
  accepted: number;
  /** Accepted device-key pairs. Minus the distinct ones, this is the number of duplicates, known when the job ends. */
  pairsRead: number;
  duplicates: number | null;
  /** Distinct devices that were left out because they are suppressed; absent means 0. */
  suppressed?: number;
  rejected: Partial<Record<RejectCode, number>>;
  /** The number of rows by event, of a loaded audience file. */
  events?: { event: string; rows: number }[];
  /** It has more than 1,000 distinct events, which are stored as one event. */
  eventsCollapsed?: boolean;
  failure: FileFailure | null;
  updatedAt: Date;
}
