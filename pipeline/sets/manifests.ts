/** Manifest documents: read together, and replaced together with a compare-and-set on each one's version. */
import { type AnyBulkWriteOperation, type Db, MongoBulkWriteError } from 'mongodb';
import { collections } from '../../schemas/documents.ts';
import type { ManifestDocument } from '../../schemas/stage-documents.ts';
import { groupCommit } from '../runtime/group-commit.ts';
import { wholeSlot } from './regions.ts';

/** Version 0: there is no document yet. */
export type Manifest = ManifestDocument;
export type Manifests = ReturnType<typeof createManifests>;

const DUPLICATE_KEY = 11_000;

export const manifestId = (space: string, slot: number) => `${space}#${slot}`;

export function createManifests(db: Db) {
  // From the primary and majority-committed: a device that only seems to be stored, because a write is about to be rolled back or a
  // deletion has not arrived, would be lost for good.
  const collection = db.collection<ManifestDocument>(collections.manifests, {
    readConcern: 'majority',
    readPreference: 'primary',
  });

  const read = groupCommit(async (wanted: { space: string; slot: number }[]): Promise<Manifest[]> => {
    const ids = wanted.map(({ space, slot }) => manifestId(space, slot));
    const found = new Map<string, Manifest>();
    const cursor = collection.find({ _id: { $in: [...new Set(ids)] } }, { batchSize: ids.length + 1 });
    for await (const manifest of cursor) found.set(manifest._id, manifest);
    return wanted.map(({ space, slot }, i) => found.get(ids[i]!) ?? absent(space, slot));
  });

  async function bulkWrite(operations: AnyBulkWriteOperation<ManifestDocument>[]) {
    try {
      const { matchedCount } = await collection.bulkWrite(operations, { ordered: false });
      return { matched: matchedCount, refused: new Set<number>() };
    } catch (error) {
      if (!(error instanceof MongoBulkWriteError)) throw error;
      const errors = Array.isArray(error.writeErrors) ? error.writeErrors : [error.writeErrors];
      const onlyDuplicates = errors.length > 0 && errors.every(({ code }) => code === DUPLICATE_KEY);
      // A write that is not on a majority of members may yet be undone: no answer can be given.
      if (!onlyDuplicates || error.result.getWriteConcernError()) throw error;
      return { matched: error.result.matchedCount, refused: new Set(errors.map(({ index }) => index)) };
    }
  }

  return {
    collection,
    read,

    /** The manifest becomes the next version of the one that it was made from, or stays as it is: true if it did. */
    replace: groupCommit(async (next: Manifest[]): Promise<boolean[]> => {
      const updates = next.filter(({ version }) => version > 0).length;
      const { matched, refused } = await bulkWrite(next.map(toWrite));
      if (matched === updates) return next.map((_, i) => !refused.has(i));
      // The server says how many updates found their version, not which. Rare, so the documents may be asked again.
      const stored = await Promise.all(next.map(read));
      return next.map((manifest, i) =>
        manifest.version === 0 ? !refused.has(i) : matched > 0 && isSuccessor(stored[i]!, manifest),
      );
    }),
  };
}

const absent = (space: string, slot: number): Manifest => ({
  _id: manifestId(space, slot),
  space,
  slot,
  version: 0,
  devices: 0,
  job: 0,
  changes: [],
  regions: [wholeSlot],
  replaced: [],
});

function toWrite({ _id, version, ...rest }: Manifest): AnyBulkWriteOperation<ManifestDocument> {
  const document = { ...rest, version: version + 1 };
  if (version === 0) return { insertOne: { document: { _id, ...document } } };
  return { replaceOne: { filter: { _id, version }, replacement: document } };
}

/** Whether what is stored is what we wanted to store, whoever did it: tokens are unique. */
function isSuccessor(stored: Manifest, wanted: Manifest): boolean {
  const tokensOf = ({ regions }: Manifest) =>
    regions.flatMap(({ levels }) => levels.map(({ token }) => token)).join();
  return (
    stored.version === wanted.version + 1 &&
    stored.job === wanted.job &&
    tokensOf(stored) === tokensOf(wanted)
  );
}
