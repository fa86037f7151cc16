/** Idempotency keys: the first request with a key stores a mark, and repetitions get its answer. */
import { randomUUID } from 'node:crypto';
import type { Binary, Db } from 'mongodb';
import type { Scope } from '../../pipeline/stores/audiences.ts';
import { collections, type IdempotencyDocument } from '../../schemas/documents.ts';

/** Keys of different partners and customers never collide: neither a key nor an encoded customer contains a space. */
const markId = ({ partner, customer }: Scope, key: string): string =>
  customer === null ? `${partner}/${key}` : `${partner} ${encodeURIComponent(customer)} ${key}`;

export function createIdempotencyStore(db: Db) {
  const marks = db.collection<IdempotencyDocument>(collections.idempotency);

  async function setOnce({ _id }: IdempotencyDocument, field: 'answer' | 'intent', value: Binary) {
    const set = await marks.updateOne({ _id, [field]: { $exists: false } }, { $set: { [field]: value } });
    return set.modifiedCount === 1 ? undefined : (await marks.findOne({ _id }))?.[field];
  }

  return {
    /** The mark of the first request with this key. The caller compares the hashes: different hashes, different requests. */
    async claim(
      scope: Scope,
      key: string,
      first: Pick<IdempotencyDocument, 'requestHash' | 'token'>,
    ): Promise<IdempotencyDocument> {
      for (let tries = 0; ; tries++) {
        try {
          // Matched by value: a key is any text, and must not be read as an operator.
          const claimed = await marks.findOneAndUpdate(
            { _id: { $eq: markId(scope, key) } },
            { $setOnInsert: { ...first, createdAt: new Date() } },
            { upsert: true, returnDocument: 'after' },
          );
          return claimed!;
        } catch (error) {
          // Of two concurrent upserts, one is refused and finds the other's mark on its next try.
          if ((error as { code?: unknown }).code !== 11000 || tries >= 3) throw error;
        }
      }
    },

    /** The job of this token was withdrawn: the next attempt needs a new token. Concurrent calls get the same one. */
    async renewToken(mark: IdempotencyDocument): Promise<IdempotencyDocument> {
      await marks.updateOne({ _id: mark._id, token: mark.token }, { $set: { token: randomUUID() } });
      return (await marks.findOne({ _id: mark._id })) ?? mark;
    },

    /** Returns the stored answer if there is one. */
    storeAnswer: (mark: IdempotencyDocument, answer: Binary) => setOnce(mark, 'answer', answer),

    async intentOf({ _id }: IdempotencyDocument): Promise<Binary | undefined> {
      return (await marks.findOne({ _id }))?.intent;
    },

    /** Stores what the request is about to do. Returns the stored intent of an earlier try if there is one. */
    fixIntent: (mark: IdempotencyDocument, intent: Binary) => setOnce(mark, 'intent', intent),
  };
}
