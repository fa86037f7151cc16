/** Cuts a list into groups in its order: each within the limits, or a single item that alone exceeds them. */
export function* inGroups<T>(
  items: readonly T[],
  sizeOf: (item: T) => number,
  limit: { bytes: number; count?: number },
): Generator<T[]> {
  let group: T[] = [];
  let bytes = 0;
  for (const item of items) {
    const size = sizeOf(item);
    if (group.length > 0 && (bytes + size > limit.bytes || group.length === limit.count)) {
      yield group;
      group = [];
      bytes = 0;
    }
    group.push(item);
    bytes += size;
  }
  if (group.length > 0) yield group;
}
