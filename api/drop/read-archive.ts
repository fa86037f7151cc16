/** Streams the files of a ZIP archive, in order. Holds only the current chunk. */
import { Unzip, UnzipInflate } from 'fflate';
import { ListError } from './list-files.ts';

interface ArchivedFile {
  take(bytes: Uint8Array): void;
  end(): void;
}

const END = Buffer.from([0x50, 0x4b, 5, 6]);
const END_BYTES = 22;
const MAX_COMMENT = 0xffff;

/** `open` returns the consumer of a file's content, or undefined to skip the file. After each chunk, `settle` may write what was read. */
export async function readArchive(
  pieces: AsyncIterable<Uint8Array>,
  open: (name: string) => ArchivedFile | undefined,
  settle: () => Promise<void>,
): Promise<void> {
  let problem: unknown;
  let files = 0;
  let ended = 0;
  const unzip = new Unzip((file) => {
    files++;
    const taking = open(file.name.replace(/^.*[\\/]/, ''));
    file.ondata = (error, data, isLast) => {
      problem ??= error;
      if (problem) return;
      try {
        taking?.take(data);
        if (isLast) taking?.end();
      } catch (thrown) {
        problem = thrown;
      }
      if (isLast) ended++;
    };
    file.start();
  });
  unzip.register(UnzipInflate);
  let tail = Buffer.alloc(0);
  for await (const piece of pieces) {
    try {
      unzip.push(piece);
    } catch (error) {
      problem ??= error;
    }
    if (problem) throw asListError(problem);
    tail = Buffer.concat([tail, piece]).subarray(-(END_BYTES + MAX_COMMENT));
    await settle();
  }
  // The directory at the end has the number of files; a truncated archive has no directory.
  const end = tail.lastIndexOf(END);
  if (end < 0 || end + END_BYTES > tail.length) throw new ListError('the archive is not a complete ZIP file');
  const expected = tail.readUInt16LE(end + 10);
  if (files !== expected || ended !== files)
    throw new ListError(`the archive has ${expected} files, and ${ended} of them could be read`);
}

const asListError = (error: unknown): Error =>
  error instanceof ListError
    ? error
    : new ListError(`the archive cannot be unpacked: ${(error as Error).message}`, { cause: error });
