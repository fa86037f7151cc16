/** Requests that may be repeated: the first with a key leaves its mark here, and the others get its answer. */
import { randomUUID } from 'node:crypto';
import type { Db } from 'mongodb';
import { collections, type IdempotencyDocument } from '../../schemas/documents.ts';
import type { Scope } from './audiences.ts';

/** A key is its sender's own: the partner's, or one customer's. A space is in no key, and in no customer once it is encoded. */
export const markId = ({ partner, customer }: Scope, key: string): string =>
  customer === null ? `${partner}/${key}` : `${partner} ${encodeURIComponent(customer)} ${key}`;

export function createIdempotencyStore(db: Db) {
  const marks = db.collection<IdempotencyDocument>(collections.idempotency);

  return {
    /** The mark of the first request with this key. Whoever asks compares the hash: another one is another request. */
    async claim(scope: Scope, key: string, requestHash: string): Promise<IdempotencyDocument> {
      for (let tries = 0; ; tries++) {
        try {
          // The id is matched by value: a key is any text, and never an operator.
          const claimed = await marks.findOneAndUpdate(
            { _id: { $eq: markId(scope, key) } },
            { $setOnInsert: { requestHash, token: randomUUID(), createdAt: new Date() } },
            { upsert: true, returnDocument: 'after' },
          );
          return claimed!;
        } catch (error) {
          // Two upserts at the same moment: one of them is refused, and finds the other's the next time.
          if ((error as { code?: unknown }).code !== 11000 || tries >= 3) throw error;
        }
      }
    },

    /** After a job of this token was withdrawn, the next attempt needs another. Two at once agree on one. */
    async renewToken(mark: IdempotencyDocument): Promise<IdempotencyDocument> {
      await marks.updateOne({ _id: mark._id, token: mark.token }, { $set: { token: randomUUID() } });
      return (await marks.findOne({ _id: mark._id })) ?? mark;
    },

    storeAnswer: (
      { _id }: IdempotencyDocument,
      answer: { status: number; body?: string; location?: string },
    ) => marks.updateOne({ _id }, { $set: answer }),

    /** Sets what a step is about to do, unless an earlier try has set it; gives what is set. */
    async fixIntent(mark: IdempotencyDocument, intent: string): Promise<string> {
      await marks.updateOne({ _id: mark._id, body: { $exists: false } }, { $set: { body: intent } });
      return (await marks.findOne({ _id: mark._id }))?.body ?? intent;
    },
  };
}
