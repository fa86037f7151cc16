/** Reads a file: decompresses its bytes and cuts them into batches of rows. */
import type { FileFailure } from '../../schemas/job-documents.ts';
import type { ListedFile } from '../../schemas/topics.ts';
import { compressionOf } from './compressions.ts';
import type { Cut, ResumePoint } from './cut-rows.ts';
import { decode, FormatFailure } from './decode.ts';
import { rowFormatOf } from './row-formats.ts';

type FileToCut = Pick<ListedFile, 'path' | 'compressed' | 'batch_bytes'>;

interface CutSource {
  /** The stored bytes, from this offset on. */
  open(from: number): AsyncIterable<Buffer>;
  /** The failure of the file that an error of `open` means; null for any other error, which is rethrown. */
  failureOf(error: unknown): FileFailure | null;
}

const createCutter = ({ path, batch_bytes }: FileToCut, resume: ResumePoint | null) =>
  rowFormatOf(path).createCutter(batch_bytes, resume);

/** The batches after the resume point. If the file fails, the last one carries the failure. */
export async function* cutFile(
  file: FileToCut,
  resume: ResumePoint | null,
  { open, failureOf }: CutSource,
): AsyncGenerator<Cut, void, undefined> {
  const compression = compressionOf(file);
  // Compressed data has no random access: it is read from the start again, and batches up to the resume point are skipped.
  const entry = compression ? null : resume;
  const cutter = createCutter(file, entry);
  const isNew = ({ batch }: Cut) => !resume || batch > resume.batch;
  try {
    const stored = open(entry?.end ?? 0);
    for await (const chunk of compression ? decode(compression, stored) : stored)
      yield* cutter.push(chunk).filter(isNew);
    yield* cutter.finish().filter(isNew);
  } catch (error) {
    const failure = error instanceof FormatFailure ? error : failureOf(error);
    if (!failure) throw error;
    const cuts = cutter.fail(failure).filter(isNew);
    yield* cuts.length > 0 ? cuts : failFile(file, resume, failure);
  }
}

/** Ends the file with a failure, directly after the resume point. */
export const failFile = (file: FileToCut, resume: ResumePoint | null, failure: FileFailure): Cut[] =>
  createCutter(file, resume).fail(failure);
