/**
 * Removes all documents that match, a limited number at a time: no command runs for long, and what others want of MongoDB comes in
 * between. Interrupted, it is simply done again. The filter must be one that an index answers.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Collection, Document, Filter } from 'mongodb';

const AT_ONCE = 2_000;

/** `pauses`: takes half of the time that it has; false where somebody waits for it. */
export async function removeInSteps<T extends Document>(
  collection: Collection<T>,
  filter: Filter<T>,
  signal?: AbortSignal,
  { pauses = true } = {},
): Promise<number> {
  for (let removed = 0; ; ) {
    const began = performance.now();
    const found = await collection.find(filter).limit(AT_ONCE).project<{ _id: never }>({ _id: 1 }).toArray();
    if (found.length === 0) return removed;
    await collection.deleteMany({ _id: { $in: found.map(({ _id }) => _id) } } as Filter<T>);
    removed += found.length;
    if (found.length < AT_ONCE) return removed;
    if (pauses) await sleep(performance.now() - began, undefined, { signal });
  }
}
