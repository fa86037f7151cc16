/**
 * Finds the message that crashes processes. A partition that is started again and again at the same offset is read carefully: one
 * message at a time, each recorded before it is handled. Partitions that do not crash pay nothing for it.
 */
import type { Db } from 'mongodb';
import { collections } from '../../schemas/documents.ts';
import type { CrashDocument } from '../../schemas/stage-documents.ts';

/** Started so often at one offset, a partition is read carefully. */
const CAREFUL_FROM = 3;

export function createCrashStore(db: Db) {
  const crashes = db.collection<CrashDocument>(collections.crashes);
  const idOf = (stage: string, partition: number) => `${stage}/${partition}`;

  return {
    async begin(stage: string, partition: number, offset: string): Promise<boolean> {
      const _id = idOf(stage, partition);
      const known = await crashes.findOne({ _id });
      const before = known?.offset === offset ? known : undefined;
      const begun = (before?.begun ?? 0) + 1;
      // By message: those in front of the one that crashes processes are handled again and again, and are none of its deaths.
      const deaths = { ...before?.deaths };
      if (before?.inHand) deaths[before.inHand] = (deaths[before.inHand] ?? 0) + 1;
      await crashes.replaceOne({ _id }, { offset, begun, inHand: null, deaths }, { upsert: true });
      return begun >= CAREFUL_FROM;
    },

    async take(stage: string, partition: number, offset: string): Promise<number> {
      const taken = await crashes.findOneAndUpdate(
        { _id: idOf(stage, partition) },
        { $set: { inHand: offset } },
        { returnDocument: 'after' },
      );
      return taken?.deaths[offset] ?? 0;
    },

    /** The message was handled, or its partition was revoked: it did not crash the process. */
    async release(stage: string, partition: number): Promise<void> {
      await crashes.updateOne({ _id: idOf(stage, partition) }, { $set: { inHand: null } });
    },
  };
}
