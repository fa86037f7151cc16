/** Requests by operators, which dispatch polls for. */
import type { Binary, Db } from 'mongodb';
import { jobCollection, ofPartner } from './job-collection.ts';
import type { SealedJob } from './job-reads.ts';

export function createJobRequests(db: Db) {
  const jobs = jobCollection(db);

  return {
    /** Makes dispatch retry the merge of a stopped job, or drop it: end it without merging more. Null if it is not stopped. */
    resume: (id: number, how: 'retry' | 'drop') =>
      jobs.findOneAndUpdate(
        { _id: id, phase: 'decided', stoppedAt: { $exists: true } },
        {
          $unset: { stoppedAt: '' },
          // Sinks have given up the previous attempt.
          $inc: { attempt: 1 },
          $set: { updatedAt: new Date(), ...(how === 'drop' ? { dropRequested: true as const } : {}) },
        },
        { returnDocument: 'after' },
      ),

    /** Makes dispatch end the job as `cancelled`, with nothing merged. Null if it is too late: decided or ended. */
    requestCancel: (id: number) =>
      jobs.findOneAndUpdate(
        { _id: id, phase: { $in: ['accepted', 'listed'] } },
        { $set: { cancelRequested: true, updatedAt: new Date() } },
        { returnDocument: 'after' },
      ),

    /** The same for all undecided jobs of a partner. Returns their number. */
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

    /** False if they were erased or replaced meanwhile. */
    async replaceCredentials({ _id, credentials }: SealedJob, by: Binary): Promise<boolean> {
      const result = await jobs.updateOne({ _id, credentials }, { $set: { credentials: by } });
      return result.modifiedCount === 1;
    },
  };
}
