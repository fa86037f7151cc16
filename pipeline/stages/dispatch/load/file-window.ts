/** Limits the files of a job in flight: a window of places, of which a small file takes a fraction. */
import type { FileDocument } from '../../../../schemas/job-documents.ts';

type Sized = Pick<FileDocument, 'size' | 'batchBytes'>;

/** A small file mostly waits for its storage. With more in flight, other partners' files would queue behind them. */
export const SMALL_FILES_A_PLACE = 16;

export const placesOf = ({ size, batchBytes }: Sized): number =>
  Math.min(1, Math.max(size / batchBytes, 1 / SMALL_FILES_A_PLACE));

/** The first files that fit. */
export function takeThatFit<File extends Sized>(files: readonly File[], room: number): File[] {
  let left = room;
  const end = files.findIndex((file) => {
    left -= placesOf(file);
    return left < 0;
  });
  return end < 0 ? [...files] : files.slice(0, end);
}
