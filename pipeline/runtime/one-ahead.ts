/** Results in order; the next one is prepared while the last one is used. */
export async function* oneAhead<Item, Result>(
  items: Iterable<Item>,
  prepare: (item: Item) => Promise<Result>,
): AsyncGenerator<Result> {
  let last: Promise<Result> | undefined;
  for (const item of items) {
    const next = prepare(item);
    // Reported when it is awaited.
    next.catch(() => {});
    if (last) yield await last;
    last = next;
  }
  if (last) yield await last;
}
