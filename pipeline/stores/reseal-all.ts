import { Binary, type Collection, type Filter, type FindCursor, type UpdateFilter } from 'mongodb';
import { reseal } from '../runtime/seal.ts';

interface Sealed {
  _id: string;
  sealed?: Binary;
}

/** Re-encrypts these documents of the collection with the current secret, the first. Returns the number of documents changed. */
export async function resealAll<D extends Sealed>(
  collection: Collection<D>,
  documents: FindCursor<D>,
  secrets: readonly Uint8Array[],
  contextOf: (document: D) => string,
): Promise<number> {
  let changed = 0;
  // Values may be large.
  for await (const document of documents.batchSize(2)) {
    const sealed = document.sealed && reseal(secrets, document.sealed, contextOf(document as D));
    if (!sealed) continue;
    // Not if the value was erased meanwhile.
    const filter = { _id: document._id, sealed: { $exists: true } } as Filter<D>;
    const update = { $set: { sealed: new Binary(sealed) } } as unknown as UpdateFilter<D>;
    changed += (await collection.updateOne(filter, update)).modifiedCount;
  }
  return changed;
}
