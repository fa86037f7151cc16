/** A job whose files are being loaded, as far as this term has come with it. */
import type { FileDocument, JobDocument } from '../../../schemas/documents.ts';
import type { DecidedFile } from '../../stores/files.ts';

/** What a job's outcome is added up from. */
export type JudgedFile = DecidedFile & { path: string };

export interface LoadingJob {
  job: JobDocument;
  attempt: number;
  /** Files that are published and not decided. */
  inFlight: Set<number>;
  nextFile: number;
  filesDone: number;
  rowsDone: number;
  reported: { at: number; rows: number };
  /** Batches and files seen so far, when that last changed, and how long it may stay so. */
  progress: { seen: string; at: number; patienceMs: number };
  /** Kept for a job whose files are all published at once; otherwise MongoDB has them. */
  decided: JudgedFile[] | null;
  paths: Map<number, string>;
  done(): void;
  fail(error: unknown): void;
}

interface Start {
  first: FileDocument[] | null;
  before: { files: number; rows: number };
  patienceMs: number;
  resolve(judged: JudgedFile[] | null): void;
  reject(error: unknown): void;
}

export function createLoadingJob(job: JobDocument, start: Start): LoadingJob {
  const now = performance.now();
  const decided: JudgedFile[] | null = start.first?.length === job.fileCount ? [] : null;
  return {
    job,
    attempt: job.attempt ?? 0,
    inFlight: new Set(),
    nextFile: 0,
    filesDone: start.before.files,
    rowsDone: start.before.rows,
    reported: { at: now, rows: start.before.rows },
    progress: { seen: '', at: now, patienceMs: start.patienceMs },
    decided,
    paths: new Map(start.first?.map(({ number, path }) => [number, path])),
    done: () => start.resolve(decided?.length === job.fileCount ? decided : null),
    fail: start.reject,
  };
}
