/** Manifest documents: read together, and replaced together with a compare-and-set on each one's version. */
import { type AnyBulkWriteOperation, Binary, type Db, MongoBulkWriteError } from 'mongodb';
import { collections } from '../../schemas/documents.ts';
import type { ManifestDocument } from '../../schemas/stage-documents.ts';
import { inGroups, within } from '../runtime/in-groups.ts';
import { bytesOf } from './binary.ts';
import type { ChunkEntry } from './layout.ts';
import { emptySet } from './packed-order.ts';

/** What a set holds in a slot. Version 0: there is no document yet. */
export interface Manifest {
  id: string;
  set: string;
  slot: number;
  version: number;
  count: number;
  inline: Uint8Array;
  chunks: ChunkEntry[];
}

const DUPLICATE_KEY = 11_000;
const READ_AT_ONCE = 500;

export type Manifests = ReturnType<typeof createManifests>;

export function manifestId(set: string, slot: number): string {
  return `${set}#${slot}`;
}

export function manifestCollection(db: Db) {
  // From the primary and majority-committed: a set that only seems to hold a device, because a write is about to be rolled
  // back or a drop has not arrived, would swallow that device for good.
  return db.collection<ManifestDocument>(collections.manifests, {
    readConcern: 'majority',
    readPreference: 'primary',
    promoteBuffers: false,
  });
}

export function fromDocument(document: ManifestDocument): Manifest {
  const { _id, set, slot, version, count, inline, chunks } = document;
  return { id: _id, set, slot, version, count, inline: bytesOf(inline), chunks };
}

export function createManifests(db: Db) {
  const collection = manifestCollection(db);

  /** One for each target, in that order. */
  async function read(targets: { set: string; slot: number }[]): Promise<Manifest[]> {
    const found = new Map<string, Manifest>();
    const ids = targets.map(({ set, slot }) => manifestId(set, slot));
    for (const some of inGroups(ids, within({ count: READ_AT_ONCE }))) {
      const cursor = collection.find({ _id: { $in: some } }, { batchSize: some.length + 1 });
      for await (const document of cursor) found.set(document._id, fromDocument(document));
    }
    return targets.map(({ set, slot }, i) => found.get(ids[i]!) ?? absent(ids[i]!, set, slot));
  }

  return {
    read,

    /**
     * Each manifest becomes the next version of the one it was made from, or stays as it is: true for those that did.
     * `version` is the version that each was made from.
     */
    async replace(next: Manifest[]): Promise<boolean[]> {
      if (next.length === 0) return [];
      const updates = next.filter(({ version }) => version > 0).length;
      const { matched, refused } = await bulkWrite(next.map(toWrite));
      if (matched === updates) return next.map((_, i) => !refused.has(i));
      // The server says how many updates found their version, not which. Rare, so the documents may be asked again.
      const stored = await read(next);
      return next.map((manifest, i) =>
        manifest.version === 0 ? !refused.has(i) : matched > 0 && isSuccessor(stored[i]!, manifest),
      );
    },
  };

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
}

function absent(id: string, set: string, slot: number): Manifest {
  return { id, set, slot, version: 0, count: 0, inline: emptySet, chunks: [] };
}

function toWrite(manifest: Manifest): AnyBulkWriteOperation<ManifestDocument> {
  const { id, set, slot, version, count, inline, chunks } = manifest;
  const document = { set, slot, version: version + 1, count, inline: new Binary(inline), chunks };
  if (version === 0) return { insertOne: { document: { _id: id, ...document } } };
  return { replaceOne: { filter: { _id: id, version }, replacement: document } };
}

/** Whether what is stored is what we wanted to store, whoever did it. */
function isSuccessor(stored: Manifest, wanted: Manifest): boolean {
  return (
    stored.version === wanted.version + 1 &&
    Buffer.compare(stored.inline, wanted.inline) === 0 &&
    stored.chunks.length === wanted.chunks.length &&
    stored.chunks.every(({ id }, i) => id === wanted.chunks[i]!.id)
  );
}
