/** Jobs as dispatch and operators look for them: what is unfinished, what is ahead of what, what can go. */
import type { Binary, ClientSession, Db, Filter } from 'mongodb';
import type { JobDocument } from '../../../schemas/job-documents.ts';
import { groupBy } from '../../runtime/collections.ts';
import {
  jobCollection,
  laneOf,
  type Order,
  ofPartner,
  type Shown,
  unfinished,
  unfinishedPhases,
} from './job-collection.ts';

/** What decides whether a finished job can go. */
export type EndedJob = Shown<'kind' | 'partner' | 'phase' | 'audience' | 'generation'>;
export type SealedJob = Shown<'partner'> & { credentials: Binary };
type JobInLane = Shown<'partner'>;

const endedFields = { kind: 1, partner: 1, phase: 1, audience: 1, generation: 1 };
const DAY_MS = 86_400_000;

const isStopped = { phase: 'decided' as const, stoppedAt: { $exists: true } };

/** Unfinished jobs of the lane that end before this one. */
const aheadOf = ({ _id, partner }: JobInLane, order: Order, from = 0): Filter<JobDocument> => ({
  ...unfinished,
  ...(order === 'partner' ? ofPartner(partner) : {}),
  _id: { $gte: from, $lt: _id },
});

export async function findJobs(
  jobs: ReturnType<typeof jobCollection>,
  ids: number[],
  session?: ClientSession,
): Promise<Map<number, JobDocument>> {
  const found = await jobs.find({ _id: { $in: ids } }, { session }).toArray();
  return new Map(found.map((job) => [job._id, job]));
}

export function createJobReads(db: Db) {
  const jobs = jobCollection(db);

  async function idsOf(filter: Filter<JobDocument>): Promise<Set<number>> {
    const found = await jobs.find(filter).project<{ _id: number }>({ _id: 1 }).toArray();
    return new Set(found.map(({ _id }) => _id));
  }

  const firstId = async (filter: Filter<JobDocument>, direction: 1 | -1 = 1): Promise<number | undefined> =>
    (await jobs.findOne(filter, { sort: { _id: direction }, projection: { _id: 1 } }))?._id;

  return {
    find: (id: number) => jobs.findOne({ _id: id }),
    findMany: (ids: number[]) => findJobs(jobs, ids),

    /** Unfinished jobs from this number on, oldest first. */
    unfinishedFrom: (first: number, limit: number) =>
      jobs
        .find({ ...unfinished, _id: { $gte: first } })
        .sort({ _id: 1 })
        .limit(limit)
        .toArray(),

    /** The id at which work goes on (the first unfinished job, or the one after the newest), and the newest id. */
    async extent(): Promise<{ first: number; newest: number }> {
      // In this order: a job that is accepted between the two reads is found to be unfinished.
      const newest = (await firstId({}, -1)) ?? 0;
      return { first: (await firstId(unfinished)) ?? newest + 1, newest };
    },

    /** Those of the jobs up to this one that are unfinished. */
    unfinishedUpTo: (id: number) => idsOf({ ...unfinished, _id: { $lte: id } }),
    unfinishedAmong: (ids: number[]) => idsOf({ ...unfinished, _id: { $in: ids } }),
    endedAmong: (ids: number[]) => idsOf({ _id: { $in: ids }, phase: 'ended' }),
    /** Which of the jobs an operator wants to cancel. */
    cancelRequested: (ids: number[]) => idsOf({ _id: { $in: ids }, cancelRequested: true }),

    /** Unfinished jobs with attempts that were given up. */
    attempts: () =>
      jobs
        .find({ ...unfinished, $or: [{ attempt: { $gt: 0 } }, { stoppedAt: { $exists: true } }] })
        .project<Shown<'attempt' | 'stoppedAt'>>({ attempt: 1, stoppedAt: 1 })
        .toArray(),

    /** Imports and loads that are being merged, perhaps by an owner that was replaced. */
    decidedLoads: () =>
      jobs
        .find(
          { phase: 'decided', kind: { $in: ['import', 'audience'] } },
          { readConcern: { level: 'majority' } },
        )
        .project<Pick<JobDocument, 'audience' | 'generation'>>({ _id: 0, audience: 1, generation: 1 })
        .toArray(),

    /** All that change device sets at the moment. */
    beingMerged: () =>
      jobs
        .find({ phase: 'decided' })
        .project<Shown<'kind' | 'partner' | 'audience'>>({ kind: 1, partner: 1, audience: 1 })
        .toArray(),

    /** Whether a load of an older generation of the audience is unfinished, and may still write. */
    async hasOpenBelow(audience: number, generation: number): Promise<boolean> {
      const older = { audience, generation: { $lt: generation } };
      return (await jobs.findOne({ ...older, phase: { $nin: ['ended', 'withdrawn'] } })) !== null;
    },

    /** Ended jobs whose final status may not have been published. */
    statusUnpublished: () => jobs.find({ statusUnpublished: true }).sort({ _id: 1 }).toArray(),

    /**
     * Finished jobs behind this one and before the other, in the order in which they ended, as far as they ended so many days ago by
     * the database's clock.
     */
    async endedBefore(daysAgo: number, { after, before }: { after: number; before: number }, limit: number) {
      const longAgo = { $lt: ['$updatedAt', { $subtract: ['$$NOW', daysAgo * DAY_MS] }] };
      const found = await jobs
        .find({ _id: { $gt: after, $lt: before } })
        .sort({ _id: 1 })
        .limit(limit)
        .project<EndedJob & { isOld: boolean }>({ ...endedFields, isOld: longAgo })
        .toArray();
      const young = found.findIndex(({ isOld }) => !isOld);
      return young < 0 ? found : found.slice(0, young);
    },

    /** Loads of cleared generations of an audience, up to a job. */
    loadsBelow: (audience: number, generation: number, upToJob: number, limit: number) =>
      jobs
        .find({ audience, generation: { $lt: generation }, _id: { $lte: upToJob } })
        .limit(limit)
        .project<EndedJob>(endedFields)
        .toArray(),

    /** Unfinished jobs, oldest first, so that what blocks the queue is at the top; or all jobs, newest first. */
    list: (options: { partner?: string | undefined; all: boolean; limit: number }): Promise<JobDocument[]> =>
      jobs
        .find({
          ...(options.all ? {} : unfinished),
          ...(options.partner === undefined ? {} : ofPartner(options.partner)),
        })
        .sort({ _id: options.all ? -1 : 1 })
        .limit(options.limit)
        .toArray(),

    /** How many unfinished jobs of its lane are ahead of each of these. */
    async countAhead(some: JobInLane[], order: Order): Promise<Map<number, number>> {
      const ahead = new Map<number, number>();
      const countFrom = async (lane: JobInLane[]) => {
        const sorted = lane.toSorted((a, b) => a._id - b._id);
        // From one to the next, so that each unfinished job is counted once, however many are shown.
        const between = await Promise.all(
          sorted.map((job, i) => jobs.countDocuments(aheadOf(job, order, sorted[i - 1]?._id))),
        );
        let sum = 0;
        for (const [i, { _id }] of sorted.entries()) {
          sum += between[i]!;
          ahead.set(_id, sum);
        }
      };
      await Promise.all([...groupBy(some, (job) => laneOf(job, order)).values()].map(countFrom));
      return ahead;
    },

    /** The unfinished jobs of its lane ahead of this one. */
    async earlierThan(job: JobDocument, order: Order) {
      const { audience } = job;
      const before = aheadOf(job, order);
      const [first, count, ofAudience, stopped] = await Promise.all([
        firstId(before),
        jobs.countDocuments(before),
        audience === null ? undefined : firstId({ ...before, audience }, -1),
        firstId({ ...before, ...isStopped }),
      ]);
      return { first, count, ofAudience, stopped };
    },

    /** Of each phase that is not final: how many jobs are in it, and when the oldest of them was accepted. */
    unfinishedByPhase: (maxTimeMS: number) =>
      Promise.all(
        unfinishedPhases.map(async (phase) => {
          const [count, oldest] = await Promise.all([
            jobs.countDocuments({ phase }, { maxTimeMS }),
            jobs.findOne({ phase }, { sort: { _id: 1 }, projection: { createdAt: 1 }, maxTimeMS }),
          ]);
          return { phase, count, oldest: oldest?.createdAt };
        }),
      ),

    countUnfinished: () => jobs.countDocuments(unfinished),
    countStopped: (maxTimeMS: number) => jobs.countDocuments(isStopped, { maxTimeMS }),

    withCredentials: () =>
      jobs
        .find({ ...unfinished, credentials: { $type: 'binData' } })
        .project<SealedJob>({ partner: 1, credentials: 1 }),
  };
}
