/**
 * What is in MongoDB: one type a collection. The API and the stages meet here.
 * Identifiers of jobs grow without gaps in the order in which jobs were accepted (pipeline/accept/accept-queue.ts says how).
 */
import type { Binary } from 'mongodb';
import type { FileFailureCode, JobFailureCode, RejectCode } from './codes.ts';

export interface PartnerDocument {
  _id: string;
  name: string;
  /** Ends in `/`, is never given twice, and no partner's prefix begins with another's. */
  prefix: string;
  storageUser: string;
  createdAt: Date;
}

export interface ApiKeyDocument {
  /** The readable part of the key. */
  _id: string;
  partner: string;
  /** HMAC-SHA-256 of the whole key under a key from the configuration. */
  hash: Binary;
  /** The secret whose key that is; absent if it was made before this was noted. */
  secretId?: string;
  label?: string;
  createdAt: Date;
  revokedAt: Date | null;
}

export interface AttributeDocument {
  _id: number;
  partner: string;
  name: string;
  /** Grows with each attribute and each association: a job sees those up to the number it was accepted with. */
  sequence: number;
  foreignKey?: string;
  foreignKeySequence?: number;
  createdAt: Date;
}

/** A number that the processes share (pipeline/stores/counters.ts). */
export interface CounterDocument {
  _id: string;
  value: number;
  /** Of a lease: who has it. */
  holder?: string;
}

export const JobStatus = { pending: 0, running: 1, done: 2, error: 3 } as const;
export type JobStatus = (typeof JobStatus)[keyof typeof JobStatus];

export const LogType = { import: 0, deletion: 1 } as const;

/**
 * accepted → loading → sealed → ended, or accepted → withdrawn (never queued: its request was answered with an error).
 * Each step is a compare-and-set on the phase, so of two dispatchers only one makes it.
 */
export type JobPhase = 'accepted' | 'withdrawn' | 'loading' | 'sealed' | 'ended';

export interface JobError {
  code: FileFailureCode | JobFailureCode;
  message: string;
  file?: string;
  line?: number;
  count?: number;
}

/** What the markers of a job say. */
export interface JobVerdict {
  /** Files to merge, as ranges: first, last, first, last, … */
  passed: number[];
  /** Files with more than 1,000 events, which count as one. */
  collapsed: number[];
  /** The attempt that it was made in, and what each slot holds of the files that passed: a count and a checksum. */
  attempt: number;
  /** By slot, packed (formats/slot-totals.ts): a job is read far more often than this is needed. */
  expected: Binary;
}

export interface JobDocument {
  /** import_log_id, or the number of an audience's load. */
  _id: number;
  kind: 'import' | 'delete' | 'audience';
  partner: string;
  /** Set by a request that may be repeated; unique. */
  requestToken?: string;
  /** Its number was answered by another process than the one that is accepting it, which may not withdraw it any more. */
  promised?: true;
  phase: JobPhase;
  status: JobStatus;
  /** As submitted; '' for a deletion. */
  filePath: string;
  pathType: 0 | 1;
  keyType: 0 | 1 | null;
  compressed: boolean | null;
  /** Encrypted; erased when the job ends. */
  credentials?: Binary | null;
  region?: string | null;
  /** A deletion: the keys as submitted and the attributes that they name. */
  keys: string[] | null;
  attributes: number[] | null;
  /** The attribute sequence at acceptance: later attributes are unknown to this job, however often it is read. */
  attributesAsOf: number;
  audience: number | null;
  generation: number | null;
  /** The first job of an audience makes the audience, should the API not have lived to. */
  audienceName?: string;
  customer?: string | null;

  /** Which of the listings is the frozen one. */
  listing?: string;
  /** How often its files have been dispatched anew because something of them was lost; 0 unless given. */
  attempt?: number;
  /** Set by an operator: it ends as cancelled. */
  cancelRequested?: true;
  /** Why the service itself could not process it: for the operator, not for the partner. */
  internalReason?: string;
  /** Its last status is not known to be published. */
  statusUnpublished?: true;
  fileCount: number;
  /** Bytes of all files as listed. */
  bytes?: number;
  filesDone: number;
  rows: number;
  uniqueDevices: number;
  errors: JobError[] | null;
  /** Written once, when sealed, so that the marker says the same however often it is sent. */
  verdict?: JobVerdict;
  createdAt: Date;
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
  /** The path the partner knows, beginning with the issued prefix (or the key in the partner's own bucket). */
  path: string;
  etag: string;
  size: number;
  compressed: boolean;
  batchBytes: number;
  /** 0 waits, 1 dispatched, 2 and 3 decided. */
  status: JobStatus;
  /** The attempt at the job in which it was decided; 0 unless given. */
  attempt?: number;
  rows: number;
  accepted: number;
  /** Accepted pairs of device and key; less the distinct ones, these are the duplicates, known when the job ends. */
  pairsRead: number;
  /** Distinct pairs of device and key within each batch, as sent to the sink. */
  pairs: number;
  duplicates: number | null;
  rejected: Partial<Record<RejectCode, number>>;
  /** Rows by event, of a loaded audience file. */
  events?: { event: string; rows: number }[];
  /** It has more than 1,000 events, which count as one. */
  eventsCollapsed?: boolean;
  failure: FileFailure | null;
  updatedAt: Date;
}

export interface AudienceDocument {
  /** The id of the job that created it. */
  _id: number;
  partner: string;
  customer: string | null;
  name: string;
  segment: number;
  /** Raised by each clear; work of an older generation is dropped. */
  generation: number;
  uniqueDevices: number;
  uploadedDevices: number;
  matchedDevices: number;
  /** 2 or 3: the outcome of the finished loads. What waits or runs is seen from the jobs. */
  outcome: 2 | 3;
  /** Paths whose last load failed as a whole, in this generation: they keep the outcome at 3. */
  failedPaths?: string[];
  /** The last load that these counts come from. */
  loadedBy?: number;
  /** Generations below this one have left nothing behind. */
  sweptBelow?: number;
  /** When that was found, by the database's clock. */
  sweptAt?: Date;
  createdAt: Date;
  updatedAt: Date;
}

export interface IdempotencyDocument {
  /** `<partner>/<key>`, or `<partner> <customer> <key>` */
  _id: string;
  requestHash: string;
  token: string;
  status?: number;
  body?: string;
  location?: string;
  createdAt: Date;
}

export const collections = {
  partners: 'partners',
  apiKeys: 'api_keys',
  attributes: 'attributes',
  counters: 'counters',
  jobs: 'jobs',
  files: 'files',
  audiences: 'audiences',
  ledger: 'ledger',
  acks: 'acks',
  checks: 'checks',
  rejects: 'rejects',
  manifests: 'manifests',
  chunks: 'chunks',
  spills: 'spills',
  crashes: 'crashes',
  idempotency: 'idempotency',
} as const;

/** Names of device sets. */
export const setNames = {
  attribute: (attribute: number) => `attribute:${attribute}`,
  audience: (audience: number, generation: number) => `audience:${audience}:g${generation}`,
  event: (audience: number, generation: number, event: string) =>
    `audience:${audience}:g${generation}:event:${event}`,
  /** Of an audience's set, or of one of its events. */
  generationOf: (set: string) => Number(/^audience:\d+:g(\d+)(?::|$)/.exec(set)?.[1]),
};
