/** Signed receipts of privacy requests. They outlive their requests; MongoDB removes them when they expire. */
import type { Db } from 'mongodb';
import { collections, type ReceiptDocument } from '../../schemas/documents.ts';

export function createReceiptStore(db: Db) {
  const receipts = db.collection<ReceiptDocument>(collections.receipts);
  return {
    find: (_id: number): Promise<ReceiptDocument | null> => receipts.findOne({ _id }),

    /** The first one counts: what is done again after a crash must say the same. */
    async store({ _id, ...receipt }: ReceiptDocument): Promise<void> {
      await receipts.updateOne({ _id }, { $setOnInsert: receipt }, { upsert: true });
    },
  };
}
