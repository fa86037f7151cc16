/** Requests that may be repeated: the first with a key leaves its mark here, and the others get its answer. */
import { randomUUID } from 'node:crypto';
import type { Db } from 'mongodb';
import { collections, type IdempotencyDocument } from '../../schemas/documents.ts';
import type { Scope } from './audiences.ts';

const marks = (db: Db) => db.collection<IdempotencyDocument>(collections.idempotency);

/** A key is its sender's own: the partner's, or one customer's. A space is in no key, and in no customer once it is encoded. */
export const markId = ({ partner, customer }: Scope, key: string): string =>
  customer === null ? `${partner}/${key}` : `${partner} ${encodeURIComponent(customer)} ${key}`;

/** The mark of the first request with this key. Whoever asks compares the hash: another one is another request. */
export async function claimKey(
  db: Db,
  scope: Scope,
  key: string,
  requestHash: string,
): Promise<IdempotencyDocument> {
  for (let tries = 0; ; tries++) {
    try {
      // The id is matched by value: a key is any text, and never an operator.
      const claimed = await marks(db).findOneAndUpdate(
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
}

/** After a job of this token was withdrawn, the next attempt needs another. Two at once agree on one. */
export async function renewToken(db: Db, mark: IdempotencyDocument): Promise<IdempotencyDocument> {
  await marks(db).updateOne({ _id: mark._id, token: mark.token }, { $set: { token: randomUUID() } });
  return (await marks(db).findOne({ _id: mark._id })) ?? mark;
}

export async function storeAnswer(
  db: Db,
  mark: IdempotencyDocument,
  answer: { status: number; body?: string; location?: string },
): Promise<void> {
  await marks(db).updateOne({ _id: mark._id }, { $set: answer });
}

/** Sets what a step is about to do, unless an earlier try has set it; gives what is set. */
export async function fixIntent(db: Db, mark: IdempotencyDocument, intent: string): Promise<string> {
  await marks(db).updateOne({ _id: mark._id, body: { $exists: false } }, { $set: { body: intent } });
  return (await marks(db).findOne({ _id: mark._id }))?.body ?? intent;
}
