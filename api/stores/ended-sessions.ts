/** Console sessions that were signed out before they expired: a copied cookie must not outlive the sign-out. */
import type { Db } from 'mongodb';
import { collections, type EndedSessionDocument } from '../../schemas/documents.ts';

export type EndedSessionStore = ReturnType<typeof createEndedSessionStore>;

export function createEndedSessionStore(db: Db) {
  const ended = db.collection<EndedSessionDocument>(collections.endedSessions);

  return {
    async add(id: string, expiresAt: Date): Promise<void> {
      await ended.updateOne({ _id: id }, { $setOnInsert: { expiresAt } }, { upsert: true });
    },

    has: async (id: string): Promise<boolean> => (await ended.findOne({ _id: id })) !== null,
  };
}
