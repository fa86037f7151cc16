/** A job whose files are being loaded, and its progress in this term. */
import type { FileDocument, JobDocument, JobError } from '../../../../schemas/job-documents.ts';
import type { DecidedFile } from '../../../stores/files.ts';
import type { FileTally } from './tally-files.ts';

/** The outcome of a job is the sum of these. */
export type JudgedFile = DecidedFile & {
  path: string;
  /** What each slot gets of the file, if this term has counted all of it (tally-files.ts). */
  slots?: Uint8Array | null;
};

type FileInFlight = Pick<FileDocument, 'size' | 'compressed' | 'batchBytes'> & { tally: FileTally };

export interface LoadingJob {
  job: JobDocument;
  attempt: number;
  /** Files that are published and undecided, by number. */
  inFlight: Map<number, FileInFlight>;
  nextFile: number;
  filesDone: number;
  rowsDone: number;
  bytesDone: number;
  /** Uncompressed minus stored bytes of the decided files. */
  grown: number;
  /** The bytes last charged to the quota, and when. */
  counted: { bytes: number; at: number };
  /** Set if the uncompressed files exceed the quota: the job is not loaded. */
  refused: JobError | undefined;
  /** On hold: the read-ahead limit is exceeded and the job is not the oldest of its lane. */
  isHeld: boolean;
  /** Compressed files decided in this term: their ratio is used to estimate the progress of others. */
  unpacked: { stored: number; bytes: number };
  reported: { at: number; rows: number };
  /** Batches counted in the ledger. */
  batchesSeen: number;
  /** `batchesSeen` when it last changed, and how long it may stay unchanged. */
  progress: { seen: number; at: number; patienceMs: number };
  /** Kept for a job whose files are all published at once; otherwise read from MongoDB. */
  decided: JudgedFile[] | null;
  paths: Map<number, string>;
  done(): void;
  fail(error: unknown): void;
}

export interface LoadedFiles {
  /** All files of a job just listed; otherwise null: read them from MongoDB. */
  judged: JudgedFile[] | null;
  /** Uncompressed bytes of the files. */
  bytes: number;
  refused?: JobError | undefined;
}

interface Start {
  first: FileDocument[] | null;
  before: { files: number; rows: number; bytes: number; grown: number };
  patienceMs: number;
  resolve(loaded: LoadedFiles): void;
  reject(error: unknown): void;
}

export function createLoadingJob(job: JobDocument, start: Start): LoadingJob {
  const now = performance.now();
  const decided: JudgedFile[] | null = start.first?.length === job.fileCount ? [] : null;
  const entry: LoadingJob = {
    job,
    attempt: job.attempt ?? 0,
    inFlight: new Map(),
    nextFile: 0,
    filesDone: start.before.files,
    rowsDone: start.before.rows,
    bytesDone: start.before.bytes,
    grown: start.before.grown,
    counted: { bytes: job.bytes ?? 0, at: now },
    refused: undefined,
    isHeld: job.onHold ?? false,
    unpacked: { stored: 0, bytes: 0 },
    reported: { at: now, rows: start.before.rows },
    batchesSeen: 0,
    progress: { seen: 0, at: now, patienceMs: start.patienceMs },
    decided,
    paths: new Map(start.first?.map(({ number, path }) => [number, path])),
    done: () =>
      start.resolve({
        judged: decided?.length === job.fileCount ? decided : null,
        bytes: unpackedBytes(entry),
        refused: entry.refused,
      }),
    fail: start.reject,
  };
  return entry;
}

/** Uncompressed minus stored bytes of a file, so far. */
export const growthOf = ({ size, compressed, tally }: FileInFlight): number =>
  compressed ? Math.max(0, tally.bytes - size) : 0;

/** Uncompressed bytes of a job so far: the listed bytes plus the growth. */
export function unpackedBytes({
  job,
  grown,
  inFlight,
}: Pick<LoadingJob, 'job' | 'grown' | 'inFlight'>): number {
  let bytes = (job.bytes ?? 0) + grown;
  for (const file of inFlight.values()) bytes += growthOf(file);
  return bytes;
}

/** Stored bytes read of a file in flight, estimated for compressed files, because the ledger counts uncompressed bytes. */
export function bytesReadOf(
  { unpacked }: Pick<LoadingJob, 'unpacked'>,
  { size, compressed, tally }: FileInFlight,
): number {
  if (!compressed) return Math.min(size, tally.bytes);
  if (unpacked.bytes === 0) return 0;
  return Math.min(size, Math.floor((tally.bytes * unpacked.stored) / unpacked.bytes));
}
