/** Dry runs as they are stored. */
import type { RejectCode } from './codes.ts';
import type { FileFailure, JobDocument, JobError, JobStatus } from './job-documents.ts';

/** Rows that a file would lose, and some of them. */
export interface DryFile {
  path: string;
  rows: number;
  accepted: number;
  rejected: Partial<Record<RejectCode, number>>;
  failure: FileFailure | null;
  examples: { line: number; code: RejectCode; raw: string; isCut?: true }[];
  /** False: only its beginning was read. */
  isWhole: boolean;
}

/** A load that changes nothing: what of its files would be accepted. Removed a day after it was asked for. */
export interface DryRunDocument {
  _id: number;
  partner: string;
  customer: string | null;
  /** As the job would be, but for its number: that is the negative of ours, which no job has. */
  job: JobDocument;
  status: JobStatus;
  /** Among the unfinished ones of its partner and its customer; unique. Absent: it has ended. */
  place?: number;
  customerPlace?: number;
  /** End of the lease. */
  runner?: string;
  leasedUntil?: Date;
  tries: number;
  /** Objects that the path names, and their bytes. */
  fileCount: number;
  bytes: number;
  /** As of a job. */
  prefixMatches: string[];
  /** Those that were read. The others are beyond the limit of a dry run. */
  files: DryFile[];
  errors: JobError[] | null;
  createdAt: Date;
  updatedAt: Date;
}
