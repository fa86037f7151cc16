/**
 * Accepts and withdraws jobs. Withdrawing a job and claiming it for dispatch are both compare-and-sets on the phase: exactly one of them
 * succeeds.
 */
import type { Db } from 'mongodb';
import type { JobDocument } from '../../../schemas/job-documents.ts';
import { groupCommit } from '../../runtime/group-commit.ts';
import { insertNew } from '../bulk.ts';
import { jobCollection, ofPartner, unfinished } from './job-collection.ts';

export function createNewJobs(db: Db) {
  const jobs = jobCollection(db);

  return {
    /** A majority read: a number following one that is rolled back would leave a gap and block dispatch. */
    async highestNumber(): Promise<number> {
      const newest = {
        sort: { _id: -1 },
        projection: { _id: 1 },
        readConcern: { level: 'majority' },
      } as const;
      return (await jobs.findOne({}, newest))?._id ?? 0;
    },

    /** In order, up to the first failure. */
    insert: (documents: JobDocument[]) => jobs.insertMany(documents, { ordered: true }),

    /** Gaps: unused numbers from `first` to `last` that are below the newest job. */
    async missing(first: number, last: number): Promise<number[]> {
      const missing: number[] = [];
      let next = first;
      const skipTo = (end: number) => {
        for (; next < end; next++) missing.push(next);
      };
      for await (const { _id } of jobs
        .find({ _id: { $gte: first } }, { projection: { _id: 1 } })
        .sort({ _id: 1 })) {
        skipTo(_id);
        next = _id + 1;
      }
      skipTo(last + 1);
      return missing;
    },

    /** Skips jobs whose number is taken. */
    insertNew: (documents: JobDocument[]) => insertNew(jobs, documents),

    /** The job of an earlier request with this token. */
    findByToken: groupCommit(async (tokens: string[]): Promise<(JobDocument | undefined)[]> => {
      const found = await jobs.find({ requestToken: { $in: tokens } }).toArray();
      const byToken = new Map(found.map((job) => [job.requestToken, job]));
      return tokens.map((token) => byToken.get(token));
    }),

    hasToken: async (requestToken: string): Promise<boolean> =>
      (await jobs.findOne({ requestToken }, { projection: { _id: 1 } })) !== null,

    /** Number of the partner's unfinished jobs, up to the limit. */
    countPending: (partner: string, limit: number): Promise<number> =>
      jobs.countDocuments({ ...ofPartner(partner), ...unfinished }, { limit }),

    /**
     * From now on the job cannot be withdrawn, not even by a zombie that was paused while accepting it. It may already have been withdrawn:
     * see the phase of the result. Null: the outcome is not visible yet.
     */
    async promise({ _id, phase }: JobDocument): Promise<JobDocument | null> {
      const set = { $set: { promised: true } as const };
      const promised =
        phase === 'accepted' &&
        (await jobs.findOneAndUpdate({ _id, phase }, set, { returnDocument: 'after' }));
      return promised || jobs.findOne({ _id, phase: { $ne: 'accepted' } });
    },

    /** Returns the jobs that could not be withdrawn, because dispatch had claimed them. */
    async withdraw(documents: JobDocument[]): Promise<Set<number>> {
      // Matched by token too: if our insert failed, another process may have taken the number.
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
