/** A job whose files are being loaded, as far as this term has come with it. */
import type { FileDocument, JobDocument, JobError } from '../../../../schemas/job-documents.ts';
import type { DecidedFile } from '../../../stores/files.ts';
import type { FileTally } from './tally-files.ts';

/** What a job's outcome is added up from. */
export type JudgedFile = DecidedFile & {
  path: string;
  /** What each slot gets of the file, if this term has seen all of it (tally-files.ts). */
  slots?: Uint8Array | null;
};

type FileInFlight = Pick<FileDocument, 'size' | 'compressed' | 'batchBytes'> & { tally: FileTally };

export interface LoadingJob {
  job: JobDocument;
  attempt: number;
  /** Files that are published and not decided, by number. */
  inFlight: Map<number, FileInFlight>;
  nextFile: number;
  filesDone: number;
  rowsDone: number;
  bytesDone: number;
  /** By how many bytes the decided files are larger than they are stored. */
  grown: number;
  /** What was last held against the quota, and when. */
  counted: { bytes: number; at: number };
  /** Why the job is not loaded: what its files unpack to exceeds the quota. */
  refused: JobError | undefined;
  /** There is no room to read it ahead of the oldest job of its lane. */
  isHeld: boolean;
  /** What the compressed files decided in this term came to: how far others are is estimated from it. */
  unpacked: { stored: number; bytes: number };
  reported: { at: number; rows: number };
  /** Batches that the ledger was seen to have. */
  batchesSeen: number;
  /** How many these were when that last changed, and how long it may stay so. */
  progress: { seen: number; at: number; patienceMs: number };
  /** Kept for a job whose files are all published at once; otherwise MongoDB has them. */
  decided: JudgedFile[] | null;
  paths: Map<number, string>;
  done(): void;
  fail(error: unknown): void;
}

export interface LoadedFiles {
  /** What was decided, if these are all files of a job just listed; else null, and MongoDB has it. */
  judged: JudgedFile[] | null;
  /** What the files came to, unpacked. */
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

/** By how many bytes a file is larger than it is stored, as far as it is unpacked. */
export const growthOf = ({ size, compressed, tally }: FileInFlight): number =>
  compressed ? Math.max(0, tally.bytes - size) : 0;

/** What the files of a job come to so far: as listed, and more where they have unpacked to more. */
export function unpackedBytes({
  job,
  grown,
  inFlight,
}: Pick<LoadingJob, 'job' | 'grown' | 'inFlight'>): number {
  let bytes = (job.bytes ?? 0) + grown;
  for (const file of inFlight.values()) bytes += growthOf(file);
  return bytes;
}

/** Stored bytes that have been read of a file in flight. The ledger counts unpacked ones. */
export function bytesReadOf(
  { unpacked }: Pick<LoadingJob, 'unpacked'>,
  { size, compressed, tally }: FileInFlight,
): number {
  if (!compressed) return Math.min(size, tally.bytes);
  if (unpacked.bytes === 0) return 0;
  return Math.min(size, Math.floor((tally.bytes * unpacked.stored) / unpacked.bytes));
}
