/** Reads jobs for dispatch and operators: unfinished jobs, their order in lanes, jobs to remove. */
import type { Binary, ClientSession, Db, Filter } from 'mongodb';
import type { JobDocument } from '../../../schemas/job-documents.ts';
import { groupBy } from '../../runtime/collections.ts';
import { groupCommit } from '../../runtime/group-commit.ts';
import {
  jobCollection,
  laneOf,
  type Order,
  ofPartner,
  type Shown,
  unfinished,
  unfinishedPhases,
} from './job-collection.ts';

/** The fields that decide whether a finished job can be removed. */
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
    find: groupCommit(async (ids: number[]): Promise<(JobDocument | null)[]> => {
      const found = await findJobs(jobs, ids);
      return ids.map((id) => found.get(id) ?? null);
    }),
    findMany: (ids: number[]) => findJobs(jobs, ids),

    /** Unfinished jobs from this number on, oldest first. */
    unfinishedFrom: (first: number, limit: number) =>
      jobs
        .find({ ...unfinished, _id: { $gte: first } })
        .sort({ _id: 1 })
        .limit(limit)
        .toArray(),

    /** `first`: the first unfinished job, or the next new one. */
    async extent(): Promise<{ first: number; newest: number }> {
      // In this order: a job accepted between the two reads is then found as unfinished.
      const newest = (await firstId({}, -1)) ?? 0;
      return { first: (await firstId(unfinished)) ?? newest + 1, newest };
    },

    /** Unfinished jobs up to this number. */
    unfinishedUpTo: (id: number) => idsOf({ ...unfinished, _id: { $lte: id } }),
    unfinishedAmong: (ids: number[]) => idsOf({ ...unfinished, _id: { $in: ids } }),
    endedAmong: (ids: number[]) => idsOf({ _id: { $in: ids }, phase: 'ended' }),
    /** Those of the jobs that an operator wants to cancel. */
    cancelRequested: (ids: number[]) => idsOf({ _id: { $in: ids }, cancelRequested: true }),

    /** Unfinished jobs with abandoned attempts. */
    attempts: () =>
      jobs
        .find({ ...unfinished, $or: [{ attempt: { $gt: 0 } }, { stoppedAt: { $exists: true } }] })
        .project<Shown<'attempt' | 'stoppedAt'>>({ attempt: 1, stoppedAt: 1 })
        .toArray(),

    /** Imports and loads being merged, perhaps by a zombie. */
    decidedLoads: () =>
      jobs
        .find(
          { phase: 'decided', kind: { $in: ['import', 'audience'] } },
          { readConcern: { level: 'majority' } },
        )
        .project<Pick<JobDocument, 'audience' | 'generation'>>({ _id: 0, audience: 1, generation: 1 })
        .toArray(),

    /** All jobs that are changing device sets. */
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
     * Finished jobs between two numbers, exclusive, that ended at least this many days ago by the database's clock.
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

    /** Unfinished jobs, oldest first, so that a blocking job is at the top; or all jobs, newest first. */
    list: (options: { partner?: string | undefined; all: boolean; limit: number }): Promise<JobDocument[]> =>
      jobs
        .find({
          ...(options.all ? {} : unfinished),
          ...(options.partner === undefined ? {} : ofPartner(options.partner)),
        })
        .sort({ _id: options.all ? -1 : 1 })
        .limit(options.limit)
        .toArray(),

    /** Number of unfinished jobs ahead of each job in its lane. */
    async countAhead(wanted: JobInLane[], order: Order): Promise<Map<number, number>> {
      const ahead = new Map<number, number>();
      const countFrom = async (lane: JobInLane[]) => {
        const sorted = lane.toSorted((a, b) => a._id - b._id);
        // Counts between neighbours, so that each unfinished job is counted once.
        const between = await Promise.all(
          sorted.map((job, i) => jobs.countDocuments(aheadOf(job, order, sorted[i - 1]?._id))),
        );
        let sum = 0;
        for (const [i, { _id }] of sorted.entries()) {
          sum += between[i]!;
          ahead.set(_id, sum);
        }
      };
      await Promise.all([...groupBy(wanted, (job) => laneOf(job, order)).values()].map(countFrom));
      return ahead;
    },

    /** The unfinished jobs ahead of this one in its lane. */
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

    /** By unfinished phase: number of jobs, and when the oldest was accepted. */
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
