/**
 * Jobs as the dispatcher sees them. Each step forward is a compare-and-set on the phase: of two dispatchers, one a zombie, only
 * one makes it, and the other finds what was decided.
 */
import type { Db, Filter } from 'mongodb';
import {
  collections,
  type JobDocument,
  type JobError,
  JobStatus,
  type JobVerdict,
} from '../../schemas/documents.ts';

export type JobStore = ReturnType<typeof createJobStore>;

const unfinished: Filter<JobDocument> = { phase: { $in: ['accepted', 'loading', 'sealed'] } };

export function createJobStore(db: Db) {
  const jobs = db.collection<JobDocument>(collections.jobs);

  async function step(
    id: number,
    from: Filter<JobDocument>,
    set: Partial<JobDocument>,
  ): Promise<JobDocument | null> {
    return jobs.findOneAndUpdate(
      { _id: id, ...from },
      { $set: { ...set, updatedAt: new Date() } },
      { returnDocument: 'after' },
    );
  }

  return {
    get: (id: number) => jobs.findOne({ _id: id }),

    /** Ids have no gaps, so a range of them is all there is between two jobs. */
    range: (first: number, last: number) =>
      jobs
        .find({ _id: { $gte: first, $lte: last } })
        .sort({ _id: 1 })
        .toArray(),

    /** The id at which work goes on (the first unfinished job, or the next one to come), and the newest job there is. */
    async extent(): Promise<{ first: number; newest: number }> {
      const [oldest, newest] = await Promise.all([
        jobs.find(unfinished).sort({ _id: 1 }).limit(1).project({ _id: 1 }).next(),
        jobs.find().sort({ _id: -1 }).limit(1).project({ _id: 1 }).next(),
      ]);
      const last = (newest?._id ?? 0) as number;
      return { first: (oldest?._id ?? last + 1) as number, newest: last };
    },

    /** Takes the job from the API and makes this listing its list of files. Null: somebody else did, or it was withdrawn. */
    async freeze(id: number, listing: string, fileCount: number): Promise<JobDocument | null> {
      const frozen = await step(
        id,
        { phase: 'accepted' },
        { phase: 'loading', listing, fileCount, status: JobStatus.running },
      );
      // Tried again because its answer was lost, it finds its own work.
      return frozen ?? jobs.findOne({ _id: id, phase: 'loading', listing });
    },

    progress: (id: number, filesDone: number, rows: number) =>
      jobs.updateOne({ _id: id, phase: 'loading' }, { $set: { filesDone, rows, updatedAt: new Date() } }),

    seal: (
      id: number,
      outcome: { verdict: JobVerdict; rows: number; filesDone: number; errors: JobError[] | null },
    ) =>
      step(
        id,
        { phase: { $in: ['accepted', 'loading'] } },
        { phase: 'sealed', status: JobStatus.running, ...outcome },
      ),

    /** The end. A partner's storage credentials go with it. */
    async end(id: number, outcome: Pick<JobDocument, 'status' | 'uniqueDevices' | 'rows' | 'errors'>) {
      return jobs.findOneAndUpdate(
        { _id: id, phase: 'sealed' },
        {
          $set: { ...outcome, phase: 'ended', updatedAt: new Date() },
          $unset: { credentials: '', verdict: '' },
        },
        { returnDocument: 'after' },
      );
    },
  };
}
