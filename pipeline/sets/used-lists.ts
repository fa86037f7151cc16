/** Which suppression lists were ever written to. While there are none, a merge reads only this instead of their manifests. */
import type { Db } from 'mongodb';
import { collections, spaces } from '../../schemas/documents.ts';
import { groupCommit } from '../runtime/group-commit.ts';

export type UsedLists = ReturnType<typeof createUsedLists>;

export function createUsedLists(db: Db) {
  // Like manifests: a stale read of a list as unused would let suppressed devices in.
  const lists = db.collection<{ _id: string }>(collections.suppressionLists, {
    readConcern: 'majority',
    readPreference: 'primary',
    writeConcern: { w: 'majority' },
  });
  const used = new Set<string>();
  const listsOf = (partner: string) => [spaces.suppressed(), spaces.suppressed(partner), spaces.digests];

  return {
    /** Call it before writing the first entry. */
    async use(space: string): Promise<void> {
      if (used.has(space)) return;
      await lists.updateOne({ _id: space }, { $setOnInsert: { _id: space } }, { upsert: true });
      used.add(space);
    },

    /** The spaces of the lists that apply to a partner. */
    of: groupCommit(async (partners: string[]): Promise<string[][]> => {
      const wanted = [...new Set(partners.flatMap(listsOf))];
      const found = await lists.find({ _id: { $in: wanted } }).toArray();
      const names = new Set(found.map(({ _id }) => _id));
      return partners.map((partner) => listsOf(partner).filter((space) => names.has(space)));
    }),
  };
}
