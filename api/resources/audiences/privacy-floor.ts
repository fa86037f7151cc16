/**
 * The privacy floor hides counts below it, zero included, and all counts of a smaller audience: an audience of one device would reveal
 * what is known about it. It does not protect against differencing two reports.
 */
type Floor = (count: number) => number | null;

export const createFloor =
  (floor: number, audienceDevices: number): Floor =>
  (count) =>
    audienceDevices < floor || count < floor ? null : count;

/** Hidden counts come last, in an order that does not reveal them. */
export function hiddenLast<T>(
  rows: readonly T[],
  isHidden: (row: T) => boolean,
  byName: (a: T, b: T) => number,
): T[] {
  return [...rows.filter((row) => !isHidden(row)), ...rows.filter(isHidden).sort(byName)];
}
