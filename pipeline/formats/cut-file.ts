/** A file from its bytes to its batches: unpacked by its compression, cut by its row format. */
import type { FileFailure } from '../../schemas/documents.ts';
import type { ListedFile } from '../../schemas/topics.ts';
import { compressionOf } from './compressions.ts';
import type { Cut, ResumePoint } from './cut-rows.ts';
import { decode, FormatFailure } from './decode.ts';
import { rowFormatOf } from './row-formats.ts';

export type FileToCut = Pick<ListedFile, 'path' | 'compressed' | 'batch_bytes'>;

export interface CutSource {
  /** The file's bytes as they are stored, from a position on. */
  open(from: number): AsyncIterable<Buffer>;
  /** What an error of `open` says of the file; null if it says nothing, and is thrown on. */
  failureOf(error: unknown): FileFailure | null;
  maxRatio: number;
}

const createCutter = ({ path, batch_bytes }: FileToCut, resume: ResumePoint | null) =>
  rowFormatOf(path).createCutter(batch_bytes, resume);

/** The batches behind the resume point. A failure of the file is the last of them. */
export async function* cutFile(
  file: FileToCut,
  resume: ResumePoint | null,
  { open, failureOf, maxRatio }: CutSource,
): AsyncGenerator<Cut, void, undefined> {
  const compression = compressionOf(file);
  // Compressed data cannot be entered in the middle: it is read again from the start, and batches that are done are left out.
  const entry = compression ? null : resume;
  const cutter = createCutter(file, entry);
  const isNew = ({ batch }: Cut) => !resume || batch > resume.batch;
  try {
    const stored = open(entry?.end ?? 0);
    for await (const chunk of compression ? decode(compression, stored, maxRatio) : stored)
      yield* cutter.push(chunk).filter(isNew);
    yield* cutter.finish().filter(isNew);
  } catch (error) {
    const failure = error instanceof FormatFailure ? error : failureOf(error);
    if (!failure) throw error;
    const cuts = cutter.fail(failure).filter(isNew);
    yield* cuts.length > 0 ? cuts : failFile(file, resume, failure);
  }
}

/** Ends the file with a failure, behind the resume point. */
export const failFile = (file: FileToCut, resume: ResumePoint | null, failure: FileFailure): Cut[] =>
  createCutter(file, resume).fail(failure);
