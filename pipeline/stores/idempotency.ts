/** Idempotency keys: the first request with a key stores a mark, and repetitions get its answer. */
import { randomUUID } from 'node:crypto';
import type { Db } from 'mongodb';
import { collections, type IdempotencyDocument } from '../../schemas/documents.ts';
import type { Scope } from './audiences.ts';

/** Keys of different partners and customers never collide: neither a key nor an encoded customer contains a space. */
export const markId = ({ partner, customer }: Scope, key: string): string =>
  customer === null ? `${partner}/${key}` : `${partner} ${encodeURIComponent(customer)} ${key}`;

export function createIdempotencyStore(db: Db) {
  const marks = db.collection<IdempotencyDocument>(collections.idempotency);

  return {
    /** The mark of the first request with this key. The caller compares the hashes: if they differ, so do the requests. */
    async claim(scope: Scope, key: string, requestHash: string): Promise<IdempotencyDocument> {
      for (let tries = 0; ; tries++) {
        try {
          // Matched by value: a key is any text, and must not be read as an operator.
          const claimed = await marks.findOneAndUpdate(
            { _id: { $eq: markId(scope, key) } },
            { $setOnInsert: { requestHash, token: randomUUID(), createdAt: new Date() } },
            { upsert: true, returnDocument: 'after' },
          );
          return claimed!;
        } catch (error) {
          // Two upserts at the same moment: one is refused, and finds the other's mark on its next try.
          if ((error as { code?: unknown }).code !== 11000 || tries >= 3) throw error;
        }
      }
    },

    /** The job of this token was withdrawn: the next attempt needs a new token. Concurrent calls get the same one. */
    async renewToken(mark: IdempotencyDocument): Promise<IdempotencyDocument> {
      await marks.updateOne({ _id: mark._id, token: mark.token }, { $set: { token: randomUUID() } });
      return (await marks.findOne({ _id: mark._id })) ?? mark;
    },

    storeAnswer: (
      { _id }: IdempotencyDocument,
      answer: { status: number; body?: string; location?: string },
    ) => marks.updateOne({ _id }, { $set: answer }),

    /** Stores what the request is about to do, unless an earlier try has; returns what is stored. */
    async fixIntent(mark: IdempotencyDocument, intent: string): Promise<string> {
      await marks.updateOne({ _id: mark._id, body: { $exists: false } }, { $set: { body: intent } });
      return (await marks.findOne({ _id: mark._id }))?.body ?? intent;
    },
  };
}
