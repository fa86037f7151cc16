/** Loaded devices that were suppressed by digest only: the first 16 bytes of each digest, kept until they are reported. */
import { Binary, type Db } from 'mongodb';
import { collections } from '../../schemas/documents.ts';
import { inGroups, within } from '../runtime/in-groups.ts';

const AT_ONCE = 1_000;

export function createLateMatchStore(db: Db) {
  const lateMatches = db.collection<{ _id: Binary; at: Date }>(collections.lateMatches);
  return {
    async record(digests: readonly Uint8Array[]): Promise<void> {
      const at = new Date();
      for (const group of inGroups(digests, within({ count: AT_ONCE })))
        await lateMatches.bulkWrite(
          group.map((digest) => ({
            updateOne: {
              filter: { _id: new Binary(Uint8Array.from(digest)) },
              update: { $setOnInsert: { at } },
              upsert: true,
            },
          })),
          { ordered: false },
        );
    },

    some: async (limit: number): Promise<Uint8Array[]> =>
      (
        await lateMatches
          .find({}, { projection: { _id: 1 } })
          .sort({ _id: 1 })
          .limit(limit)
          .toArray()
      ).map(({ _id }) => _id.value()),

    async forget(digests: readonly Uint8Array[]): Promise<void> {
      for (const group of inGroups(digests, within({ count: AT_ONCE })))
        await lateMatches.deleteMany({ _id: { $in: group.map((digest) => new Binary(digest)) } });
    },
  };
}
