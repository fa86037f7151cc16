/** Cuts what comes into groups, in its order: each within the limits, or a single item that alone exceeds them. */

/** Made for each group: counts an item in, and tells whether the group is still within its limits. */
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
    /** Gives the group that the item had no place in, if there is one. */
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
