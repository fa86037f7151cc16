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
      const isSame = { $eq: ['$offset', offset] };
      const begun = await crashes.findOneAndUpdate(
        { _id: idOf(stage, partition) },
        [
          {
            $set: {
              offset,
              begun: { $cond: [isSame, { $add: [{ $ifNull: ['$begun', 0] }, 1] }, 1] },
              taken: { $cond: [isSame, '$taken', null] },
              inHand: { $cond: [isSame, '$inHand', null] },
              deaths: { $cond: [isSame, { $ifNull: ['$deaths', 0] }, 0] },
            },
          },
        ],
        { upsert: true, returnDocument: 'after' },
      );
      return begun!.begun >= CAREFUL_FROM;
    },

    async take(stage: string, partition: number, offset: string): Promise<number> {
      // A process that lost the partition while it handled the message has not died of it, but those before it have.
      const deaths = { $add: ['$deaths', { $cond: [{ $eq: ['$inHand', offset] }, 1, 0] }] };
      const isAgain = { $eq: ['$taken', offset] };
      const taken = await crashes.findOneAndUpdate(
        { _id: idOf(stage, partition) },
        [{ $set: { taken: offset, inHand: offset, deaths: { $cond: [isAgain, deaths, 0] } } }],
        { returnDocument: 'after' },
      );
      return taken?.deaths ?? 0;
    },

    /** The message was handled, or its partition was revoked: it did not crash the process. */
    async release(stage: string, partition: number): Promise<void> {
      await crashes.updateOne({ _id: idOf(stage, partition) }, { $set: { inHand: null } });
    },
  };
}
