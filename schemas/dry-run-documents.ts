/** Dry runs in MongoDB. */
import type { RejectCode } from './codes.ts';
import type { FileFailure, JobDocument, JobError, JobStatus } from './job-documents.ts';

/** The result of a file: what a load would accept and reject, with examples. */
export interface DryFile {
  path: string;
  rows: number;
  accepted: number;
  rejected: Partial<Record<RejectCode, number>>;
  failure: FileFailure | null;
  examples: { line: number; code: RejectCode; raw: string; isCut?: true }[];
  /** False: only its first part was read. */
  isWhole: boolean;
}

/** A dry run: tells what a load would accept, and changes nothing. Removed after a day. */
export interface DryRunDocument {
  _id: number;
  partner: string;
  customer: string | null;
  /** The job to try. Its number is the negative of `_id`, which no real job has. */
  job: JobDocument;
  status: JobStatus;
  /** Unique among the unfinished dry runs of its partner and customer. Absent: it has ended. */
  place?: number;
  customerPlace?: number;
  /** The lease. */
  runner?: string;
  leasedUntil?: Date;
  tries: number;
  /** Objects that match the path, and their bytes. */
  fileCount: number;
  bytes: number;
  /** As of a job. */
  prefixMatches: string[];
  /** Files read, up to the limit of a dry run. */
  files: DryFile[];
  errors: JobError[] | null;
  createdAt: Date;
  updatedAt: Date;
}
