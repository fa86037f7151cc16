/**
 * Jobs as they are accepted, or taken back. Dispatch claims a job with the same compare-and-set on its phase as a withdrawal, so
 * exactly one of the two has it.
 */
import type { Db } from 'mongodb';
import type { JobDocument } from '../../schemas/documents.ts';
import { groupCommit } from '../runtime/group-commit.ts';
import { jobCollection } from './jobs.ts';

export type NewJobStore = ReturnType<typeof createNewJobStore>;

export function createNewJobStore(db: Db) {
  const jobs = jobCollection(db);

  return {
    /** Of those that a majority has: a number built on one that its primary loses would leave a gap, and end all dispatching. */
    async highestNumber(): Promise<number> {
      const newest = {
        sort: { _id: -1 },
        projection: { _id: 1 },
        readConcern: { level: 'majority' },
      } as const;
      return (await jobs.findOne({}, newest))?._id ?? 0;
    },

    /** In order, up to the first that is refused. */
    insert: (documents: JobDocument[]) => jobs.insertMany(documents, { ordered: true }),

    /** The job of a request that had been accepted before. */
    findByToken: groupCommit(async (tokens: string[]): Promise<(JobDocument | undefined)[]> => {
      const found = await jobs.find({ requestToken: { $in: tokens } }).toArray();
      const byToken = new Map(found.map((job) => [job.requestToken, job]));
      return tokens.map((token) => byToken.get(token));
    }),

    hasToken: async (requestToken: string): Promise<boolean> =>
      (await jobs.findOne({ requestToken }, { projection: { _id: 1 } })) !== null,

    /** How many jobs of the partner have not ended; stops counting at the limit. */
    countPending: (partner: string, limit: number): Promise<number> =>
      jobs.countDocuments(
        { partner, kind: { $in: ['import', 'delete', 'audience'] }, phase: { $nin: ['ended', 'withdrawn'] } },
        { limit },
      ),

    /**
     * From now on the job cannot be taken back, however late the process wakes up that is accepting it (no clock could tell when
     * that is over), unless it already was. Null: what became of it cannot be seen yet.
     */
    async promise({ _id, phase }: JobDocument): Promise<JobDocument | null> {
      const set = { $set: { promised: true } as const };
      const promised =
        phase === 'accepted' &&
        (await jobs.findOneAndUpdate({ _id, phase }, set, { returnDocument: 'after' }));
      return promised || jobs.findOne({ _id, phase: { $ne: 'accepted' } });
    },

    /** Takes the jobs back. Gives the numbers of those that dispatch took first: they run. */
    async withdraw(documents: JobDocument[]): Promise<Set<number>> {
      // The token too: should our insert not have come through, another process may have the number by now.
      const ours = documents.map(({ _id, requestToken }) => ({ _id, requestToken: requestToken! }));
      await jobs.updateMany(
        { $or: ours, phase: 'accepted', promised: { $ne: true } },
        { $set: { phase: 'withdrawn', credentials: null, updatedAt: new Date() } },
      );
      const taken = await jobs
        .find({ $or: ours, phase: { $ne: 'withdrawn' } }, { projection: { _id: 1 } })
        .toArray();
      return new Set(taken.map(({ _id }) => _id));
    },
  };
}
