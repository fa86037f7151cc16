/** Membership in the file ranges of a marker: first, last, first, last, … in ascending order. */
export function createFileRanges(ranges: readonly number[]): (file: number) => boolean {
  return (file) => {
    let low = 0;
    let high = ranges.length / 2;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (ranges[middle * 2 + 1]! < file) low = middle + 1;
      else high = middle;
    }
    return low < ranges.length / 2 && ranges[low * 2]! <= file;
  };
}

/** Sets of files, a bit for each file number: a million files take 125 KB, whichever of them are in the set. */

/** From ranges: first, last, first, last, … in ascending order. */
export function packRanges(ranges: readonly number[]): Uint8Array {
  const bits = new Uint8Array(((ranges.at(-1) ?? -1) >> 3) + 1);
  for (let i = 0; i < ranges.length; i += 2)
    for (let file = ranges[i]!; file <= ranges[i + 1]!; file++) bits[file >> 3]! |= 1 << (file & 7);
  return bits;
}

export const packFiles = (files: readonly number[]): Uint8Array =>
  packRanges(files.flatMap((file) => [file, file]));

export const createFileBits =
  (bits: Uint8Array): ((file: number) => boolean) =>
  (file) =>
    ((bits[file >> 3] ?? 0) & (1 << (file & 7))) !== 0;
