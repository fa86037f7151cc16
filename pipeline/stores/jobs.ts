/**
 * Jobs as the dispatcher sees them. Each step forward is a compare-and-set on the phase: of two dispatchers, one a zombie, only
 * one makes it, and the other finds what was decided.
 */
import type { Db, Filter, UpdateFilter } from 'mongodb';
import {
  collections,
  type JobDocument,
  type JobError,
  JobStatus,
  type JobVerdict,
} from '../../schemas/documents.ts';
import { together } from '../runtime/together.ts';
import { StaleRead } from './stale-read.ts';

export type JobStore = ReturnType<typeof createJobStore>;

/** What a job came to. */
export type JobOutcome = Pick<JobDocument, 'status' | 'uniqueDevices' | 'rows' | 'errors'>;

interface Step {
  id: number;
  from: JobDocument['phase'][];
  set: Partial<JobDocument>;
  unset?: UpdateFilter<JobDocument>['$unset'];
}

const unfinished: Filter<JobDocument> = { phase: { $in: ['accepted', 'loading', 'sealed'] } };

export function createJobStore(db: Db) {
  const jobs = db.collection<JobDocument>(collections.jobs);

  /** Takes each step that can be taken, in their order, and gives what each job is now: by us, or by who was faster. */
  async function take(steps: Step[]): Promise<JobDocument[]> {
    const updatedAt = new Date();
    const operations = steps.map(({ id, from, set, unset }) => ({
      updateOne: {
        filter: { _id: id, phase: { $in: from } },
        update: { $set: { ...set, updatedAt }, ...(unset ? { $unset: unset } : {}) },
      },
    }));
    await jobs.bulkWrite(operations, { ordered: true });
    const found = await jobs.find({ _id: { $in: steps.map(({ id }) => id) } }).toArray();
    const byId = new Map(found.map((job) => [job._id, job]));
    return steps.map(({ id, from }) => {
      const job = byId.get(id);
      if (!job || from.includes(job.phase)) throw new StaleRead(`job ${id} is not seen to have gone on`);
      return job;
    });
  }
  const step = together(take);

  return {
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

    /** Takes the job from the API and makes this listing its list of files, unless somebody else did, or it was withdrawn. */
    freeze: (id: number, listing: string, fileCount: number) =>
      step({
        id,
        from: ['accepted'],
        set: { phase: 'loading', listing, fileCount, status: JobStatus.running },
      }),

    progress: (id: number, filesDone: number, rows: number) =>
      jobs.updateOne({ _id: id, phase: 'loading' }, { $set: { filesDone, rows, updatedAt: new Date() } }),

    seal: (
      id: number,
      outcome: { verdict: JobVerdict; rows: number; filesDone: number; errors: JobError[] | null },
    ) =>
      step({
        id,
        from: ['accepted', 'loading'],
        set: { phase: 'sealed', status: JobStatus.running, ...outcome },
      }),

    /** The end of jobs, one after the other in the order given. A partner's storage credentials go with it. */
    end: (endings: { id: number; outcome: JobOutcome }[]) =>
      take(
        endings.map(({ id, outcome }) => ({
          id,
          from: ['sealed'],
          set: { ...outcome, phase: 'ended' },
          unset: { credentials: '', verdict: '' },
        })),
      ),
  };
}
