/** Signed receipts of privacy requests. They outlive their requests; a TTL index removes them. */
import type { Db } from 'mongodb';
import { collections, type ReceiptDocument } from '../../schemas/documents.ts';

export function createReceiptStore(db: Db) {
  const receipts = db.collection<ReceiptDocument>(collections.receipts);
  return {
    find: (_id: number): Promise<ReceiptDocument | null> => receipts.findOne({ _id }),

    /** First writer wins, so that a repetition after a crash yields the same receipt. */
    async store({ _id, ...receipt }: ReceiptDocument): Promise<void> {
      await receipts.updateOne({ _id }, { $setOnInsert: receipt }, { upsert: true });
    },
  };
}
