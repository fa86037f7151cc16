/** Cuts a sequence into groups, in order. Each stays within the limits; an item that exceeds them forms its own group. */

/** One per group: counts the item and returns whether the group stays within its limits. */
type Fits<T> = (item: T) => boolean;

export const within =
  <T>(max: { bytes?: number; count?: number }, sizeOf: (item: T) => number = () => 0) =>
  (): Fits<T> => {
    const { bytes = Number.POSITIVE_INFINITY, count = Number.POSITIVE_INFINITY } = max;
    let size = 0;
    let length = 0;
    return (item) => {
      size += sizeOf(item);
      length++;
      return size <= bytes && length <= count;
    };
  };

function createGrouping<T>(newGroup: () => Fits<T>) {
  let group: T[] = [];
  let fits = newGroup();
  return {
    /** Returns the previous group if the item did not fit. */
    add(item: T): T[][] {
      if (fits(item) || group.length === 0) {
        group.push(item);
        return [];
      }
      const full = group;
      group = [item];
      fits = newGroup();
      fits(item);
      return [full];
    },
    rest: (): T[][] => (group.length > 0 ? [group] : []),
  };
}

export function* inGroups<T>(items: Iterable<T>, newGroup: () => Fits<T>): Generator<T[]> {
  const grouping = createGrouping(newGroup);
  for (const item of items) yield* grouping.add(item);
  yield* grouping.rest();
}

export async function* inGroupsAsync<T>(
  items: Iterable<T> | AsyncIterable<T>,
  newGroup: () => Fits<T>,
): AsyncGenerator<T[]> {
  const grouping = createGrouping(newGroup);
  for await (const item of items) yield* grouping.add(item);
  yield* grouping.rest();
}
