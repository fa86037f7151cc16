/**
 * The privacy floor suppresses small numbers: counts below it are hidden, zero included, so that 0 and 1 cannot be told apart; and all
 * counts of an audience that is smaller itself. Otherwise an audience of one device would tell what is known about that device. It does
 * not protect against differencing: comparing reports before and after a change reveals what the change did.
 */
type Floor = (count: number) => number | null;

export const createFloor =
  (floor: number, audienceDevices: number): Floor =>
  (count) =>
    audienceDevices < floor || count < floor ? null : count;

/** What is hidden comes last, and in an order that does not tell how much it is. */
export function hiddenLast<T>(
  rows: readonly T[],
  isHidden: (row: T) => boolean,
  byName: (a: T, b: T) => number,
): T[] {
  return [...rows.filter((row) => !isHidden(row)), ...rows.filter(isHidden).sort(byName)];
}
