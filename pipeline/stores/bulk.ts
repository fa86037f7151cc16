/** Shared by several stores: idempotent inserts, removals in steps, stale reads. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Collection,
  type Document,
  type Filter,
  MongoBulkWriteError,
  type OptionalUnlessRequiredId,
} from 'mongodb';

const AT_ONCE = 2_000;

/**
 * Removes all matching documents, a limited number at a time, so that no command runs for long. Safe to repeat after an interruption. The
 * filter must use an index. `pauses`: works half of the time; false if a caller waits for it.
 */
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

/** Inserts documents; existing ones are not changed. */

const DUPLICATE_KEY = 11_000;

export async function insertNew<T extends Document>(
  collection: Collection<T>,
  documents: OptionalUnlessRequiredId<T>[],
): Promise<void> {
  try {
    await collection.insertMany(documents, { ordered: false });
  } catch (error) {
    if (!(error instanceof MongoBulkWriteError) || error.result.getWriteConcernError()) throw error;
    const refused = [error.writeErrors].flat();
    if (refused.length === 0 || refused.some(({ code }) => code !== DUPLICATE_KEY)) throw error;
  }
}

/**
 * A read returned a state older than one known to be written: for a moment, a new primary may lag behind what its predecessor acknowledged
 * by majority. An impossible result is therefore read again, not acted upon.
 */
export class StaleRead extends Error {
  readonly code = 'stale_read';
  readonly retriable = true;
}
