/**
 * Jobs and their files in MongoDB. Job ids increase without gaps in the order of acceptance (api/jobs/accept-queue.ts).
 */
import type { Binary } from 'mongodb';
import type { FileFailureCode, JobFailureCode, RejectCode } from './codes.ts';

export const JobStatus = { pending: 0, running: 1, done: 2, error: 3 } as const;
export type JobStatus = (typeof JobStatus)[keyof typeof JobStatus];

export const LogType = { import: 0, deletion: 1 } as const;

/**
 * accepted → listed → decided → ended. Between listed and decided a job is loaded (its ledger is complete) and the slots vote; between
 * decided and ended they commit and acknowledge. Or accepted → withdrawn: its request failed. Each transition is a compare-and-set on the
 * phase, so only one of two dispatchers makes it.
 */
export type JobPhase = 'accepted' | 'withdrawn' | 'listed' | 'decided' | 'ended';

export interface JobError {
  code: FileFailureCode | JobFailureCode;
  message: string;
  file?: string;
  line?: number;
  count?: number;
}

/** The decision on a job, as carried by its markers. */
export interface JobVerdict {
  /** Files to merge, as ranges: first, last, first, last, … For a stored verdict, one range from the first to the last file. */
  passed: number[];
  /** Files with more than 1,000 distinct events, which are stored as one event. */
  collapsed: number[];
  /** The duplicates of every file are known: the sinks need not count pairs by file. */
  filesCounted?: true;
  /** Id of the stored verdict (stores/verdicts.ts), if both lists are too long for a job and its markers. */
  stored?: string;
  /** The attempt in which it was decided. */
  attempt: number;
  /** Some of these files have event values, which are numbered before the job is merged. */
  hasEvents?: true | undefined;
  /** Totals that each slot must hold of the files that passed: count and checksum, packed (formats/slot-totals.ts) to keep jobs small. */
  expected: Binary;
}

/** A listing whose pages are being stored. */
export interface PartialListing {
  listing: string;
  /** The last key of the last page. */
  after: string;
  /** Objects found so far, and how many of them are files of the job: not loaded by the audience before. */
  found: number;
  files: number;
  bytes: number;
  prefixMatches: string[];
}

export const jobKinds = ['import', 'delete', 'audience', 'privacy'] as const;
export type JobKind = (typeof jobKinds)[number];

export const privacyTypes = ['delete', 'access', 'restore'] as const;
export type PrivacyType = (typeof privacyTypes)[number];

/** Stands for all partners in a request by the operator. No partner has this id. */
export const EVERYONE = '*';

export interface JobDocument {
  /** The import_log_id, the load_id of an audience's load, or the request_id of a privacy request. */
  _id: number;
  kind: JobKind;
  /** The partner whose data it changes, and in whose lane it is. */
  partner: string;
  /** Privacy requests only. */
  privacy?: PrivacyType;
  /** Its list of identifiers (pipeline/stores/identifier-lists.ts), unless they are in a file; erased when the job ends. */
  identifiers?: string;
  /** Privacy requests: why it was made and by whom, if known. */
  source?: string;
  reason?: string;
  /** Set for a request with an Idempotency-Key; unique. */
  requestToken?: string;
  /** Another process than the one accepting it has already returned its number, so it can no longer be withdrawn. */
  promised?: true;
  /** The span of the accepting request, if traced. */
  traceparent?: string;
  phase: JobPhase;
  status: JobStatus;
  /** As submitted; '' for a deletion. */
  filePath: string;
  pathType: 0 | 1;
  keyType: 0 | 1 | null;
  /** 'auto': by the extension of each file. Null: not given, which is an error for a prefix. */
  compressed: boolean | 'auto' | null;
  /** Encrypted; erased when the job ends. */
  credentials?: Binary | null;
  region?: string | null;
  /** Deletions: the keys as submitted, and the attributes they refer to. */
  keys: string[] | null;
  attributes: number[] | null;
  /** The attribute sequence at acceptance: later attributes are unknown to this job, even in a later attempt. */
  attributesAsOf: number;
  audience: number | null;
  generation: number | null;
  /** The first job of an audience creates the audience if the API died before it could. */
  audienceName?: string;
  customer?: string | null;

  /** Progress of a listing of several pages. */
  listed?: PartialListing;
  /** The id of the frozen listing. */
  listing?: string;
  /** For a prefix without a trailing slash: some matching names, up to the next slash. Known when it is listed. */
  prefixMatches?: string[];
  /** How often its files were published again because devices were lost; absent means 0. */
  attempt?: number;
  /** Set by an operator: the job ends with `cancelled`. */
  cancelRequested?: true;
  /** For the operator only: why the service failed to process it. */
  internalReason?: string;
  /** When its merge was given up: it and the jobs after it in its lane wait until an operator retries or drops it. */
  stoppedAt?: Date;
  /** Ended jobs: position among all ended jobs. */
  endNumber?: number;
  /** An operator dropped the decided job: slots that have not merged it never will. */
  dropRequested?: true;
  /** Dropped jobs: the slots that have merged it, and those that have not. */
  dropped?: { merged: number[]; notMerged: number[] };
  /** The last status may not have been published yet. */
  statusUnpublished?: true;
  fileCount: number;
  /** Bytes of all files as listed. */
  bytes?: number;
  /** Uncompressed bytes of all files, as far as they were read: charged to quotas. Absent: as listed. */
  unpackedBytes?: number;
  /** Reading is paused until it fits the read-ahead limit, or is the oldest job of its lane. */
  onHold?: true;
  filesDone: number;
  /** How many of `bytes` were read while loading; estimated for compressed files in flight. */
  bytesDone?: number;
  rows: number;
  /** Valid rows of all files, and invalid ones by reason. Known when it is decided. */
  accepted?: number;
  rejected?: Partial<Record<RejectCode, number>>;
  uniqueDevices: number;
  /** Distinct suppressed devices; absent means 0. */
  suppressed?: number;
  /** Ended loads: devices of the audience's generation after it, and how many of them it added. */
  audienceDevices?: number;
  newDevices?: number;
  errors: JobError[] | null;
  /** Written once, when the job is decided, so that resent markers are identical. */
  verdict?: JobVerdict;
  createdAt: Date;
  /** When dispatch started to list its files. */
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
  /** Audience files: hash of path and ETag, to detect files already loaded (pipeline/stores/files.ts). */
  identity?: string;
  size: number;
  compressed: boolean;
  batchBytes: number;
  /** Uncompressed minus stored bytes, as far as it was read; absent means 0. */
  grown?: number;
  /** 0: pending; 1: published; 2 and 3: decided. */
  status: JobStatus;
  /** The attempt of the job in which the file was decided; absent means 0. */
  attempt?: number;
  rows: number;
  accepted: number;
  /** Accepted device-key pairs. Duplicates are these minus the distinct pairs, known when the job ends. */
  pairsRead: number;
  duplicates: number | null;
  /** Distinct suppressed devices; absent means 0. */
  suppressed?: number;
  rejected: Partial<Record<RejectCode, number>>;
  /** Loaded audience files: rows by event. */
  events?: { event: string; rows: number }[];
  /** It has more than 1,000 distinct events, which are stored as one event. */
  eventsCollapsed?: boolean;
  failure: FileFailure | null;
  updatedAt: Date;
}
