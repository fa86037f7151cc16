/** What operators ask for: dispatch looks for it, and acts on it. */
import type { Binary, Db } from 'mongodb';
import { jobCollection, ofPartner } from './job-collection.ts';
import type { SealedJob } from './job-reads.ts';

export function createJobRequests(db: Db) {
  const jobs = jobCollection(db);

  return {
    /** Has dispatch try again to merge a stopped job; or end it, without merging more of it. Null if it is not stopped. */
    goOn: (id: number, how: 'retry' | 'drop') =>
      jobs.findOneAndUpdate(
        { _id: id, phase: 'decided', stoppedAt: { $exists: true } },
        {
          $unset: { stoppedAt: '' },
          // Sinks have given up the attempt before.
          $inc: { attempt: 1 },
          $set: { updatedAt: new Date(), ...(how === 'drop' ? { dropRequested: true as const } : {}) },
        },
        { returnDocument: 'after' },
      ),

    /** Dispatch will end the job as `cancelled`, without merging any of it. Null if it is decided or has ended: too late. */
    requestCancel: (id: number) =>
      jobs.findOneAndUpdate(
        { _id: id, phase: { $in: ['accepted', 'listed'] } },
        { $set: { cancelRequested: true, updatedAt: new Date() } },
        { returnDocument: 'after' },
      ),

    /** The same for all jobs of a partner for which it is not too late. Returns how many these are. */
    async requestCancelAll(partner: string): Promise<number> {
      const { modifiedCount } = await jobs.updateMany(
        {
          ...ofPartner(partner),
          phase: { $in: ['accepted', 'listed'] },
          cancelRequested: { $ne: true },
        },
        { $set: { cancelRequested: true, updatedAt: new Date() } },
      );
      return modifiedCount;
    },

    /** False if they were erased or replaced in the meantime. */
    async replaceCredentials({ _id, credentials }: SealedJob, by: Binary): Promise<boolean> {
      const result = await jobs.updateOne({ _id, credentials }, { $set: { credentials: by } });
      return result.modifiedCount === 1;
    },
  };
}
