/** The id of the installation: commands use it to check that they have reached the right MongoDB. */
import { randomUUID } from 'node:crypto';
import type { Db } from 'mongodb';
import { collections, type InstallationDocument } from '../../schemas/documents.ts';

const ID = 'id';

export function createInstallationStore(db: Db) {
  const installation = db.collection<InstallationDocument>(collections.installation);
  return {
    /** Created on first use. */
    async id(): Promise<string> {
      const found = await installation.findOneAndUpdate(
        { _id: ID },
        { $setOnInsert: { value: randomUUID() } },
        { upsert: true, returnDocument: 'after' },
      );
      return found!.value;
    },

    isKnownAs: async (id: string): Promise<boolean> =>
      (await installation.findOne({ _id: ID, value: id })) !== null,
  };
}
