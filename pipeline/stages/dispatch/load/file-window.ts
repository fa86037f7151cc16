/** How many files of a job are in flight: a window of places, of which a small file takes only a part. */
import type { FileDocument } from '../../../../schemas/job-documents.ts';

type Sized = Pick<FileDocument, 'size' | 'batchBytes'>;

/** What a small file costs on its way is mostly waiting. */
export const SMALL_FILES_A_PLACE = 32;

export const placesOf = ({ size, batchBytes }: Sized): number =>
  Math.min(1, Math.max(size / batchBytes, 1 / SMALL_FILES_A_PLACE));

/** The first of the files, as many as have room. */
export function takeThatFit<File extends Sized>(files: readonly File[], room: number): File[] {
  let left = room;
  const end = files.findIndex((file) => {
    left -= placesOf(file);
    return left < 0;
  });
  return end < 0 ? [...files] : files.slice(0, end);
}
