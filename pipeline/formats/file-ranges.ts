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
