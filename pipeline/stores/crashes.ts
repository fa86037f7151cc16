/**
 * Finds poison messages, which crash processes. A partition whose owners crashed repeatedly at the same offset is read carefully: one
 * message at a time, each recorded before it is handled. An owner that loses the partition without crashing does not count, however often
 * that happens while a large file holds back the offset.
 */
import type { Db } from 'mongodb';
import { collections } from '../../schemas/documents.ts';
import type { CrashDocument } from '../../schemas/stage-documents.ts';

/** A partition is read carefully after this many owners at one offset that did not leave cleanly. */
const CAREFUL_FROM = 3;
const MAX_KEPT = 10;

export type CrashStore = ReturnType<typeof createCrashStore>;

export function createCrashStore(db: Db) {
  const crashes = db.collection<CrashDocument>(collections.crashes);
  const idOf = (stage: string, partition: number) => `${stage}/${partition}`;

  /** Counted by message: messages before the poison message are redelivered, too, and must not be blamed. */
  async function countDeath({ _id, offset, inHand }: CrashDocument): Promise<void> {
    if (inHand)
      await crashes.updateOne(
        { _id, offset, inHand },
        { $inc: { [`deaths.${inHand}`]: 1 }, $set: { inHand: null } },
      );
  }

  return {
    async begin(stage: string, partition: number, offset: string, owner: string): Promise<boolean> {
      const _id = idOf(stage, partition);
      const before = await crashes.findOneAndUpdate(
        { _id, offset },
        { $push: { owners: { $each: [owner], $slice: -MAX_KEPT } } },
      );
      if (!before) {
        const fresh = { offset, owners: [owner], inHand: null, deaths: {} };
        await crashes.replaceOne({ _id }, fresh, { upsert: true });
        return false;
      }
      await countDeath(before);
      return new Set([...before.owners, owner]).size >= CAREFUL_FROM;
    },

    /** A new owner, starting at any offset. True if the previous owner crashed. */
    async succeed(stage: string, partition: number, owner: string): Promise<boolean> {
      const _id = idOf(stage, partition);
      const before = await crashes.findOne({ _id });
      if (before) await countDeath(before);
      const $setOnInsert = { offset: '', inHand: null, deaths: {} };
      await crashes.updateOne({ _id }, { $set: { owners: [owner] }, $setOnInsert }, { upsert: true });
      return before !== null && before.owners.length > 0;
    },

    /** The owner lost the partition without crashing. */
    async leave(stage: string, partition: number, owner: string): Promise<void> {
      await crashes.updateOne(
        { _id: idOf(stage, partition), owners: owner },
        { $pull: { owners: owner }, $set: { inHand: null } },
      );
    },

    async take(stage: string, partition: number, offset: string): Promise<number> {
      const taken = await crashes.findOneAndUpdate(
        { _id: idOf(stage, partition) },
        { $set: { inHand: offset } },
        { returnDocument: 'after' },
      );
      return taken?.deaths[offset] ?? 0;
    },

    /** The message was handled: it did not crash the process. */
    async release(stage: string, partition: number): Promise<void> {
      await crashes.updateOne({ _id: idOf(stage, partition) }, { $set: { inHand: null } });
    },
  };
}
