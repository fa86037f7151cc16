/**
 * Jobs in dispatch. Each transition is a compare-and-set on the phase: if two dispatchers are active for a moment, one of them
 * succeeds, and the other reads its result.
 */
import type { ClientSession, Collection, Db, Filter, UpdateFilter } from 'mongodb';
import {
  collections,
  type JobDocument,
  type JobError,
  JobStatus,
  type JobVerdict,
} from '../../../schemas/documents.ts';
import { groupCommit } from '../../runtime/group-commit.ts';
import { StaleRead } from '../bulk.ts';

export type JobStore = ReturnType<typeof createJobStore>;

export const jobCollection = (db: Db) => db.collection<JobDocument>(collections.jobs);

/** The result of a job. */
export type JobOutcome = Pick<
  JobDocument,
  'status' | 'uniqueDevices' | 'rows' | 'errors' | 'audienceDevices' | 'newDevices' | 'dropped'
>;

/** The decision about a job, before it is merged. */
export interface Decision {
  /** Why the service itself failed at the job; for the operator. */
  internalReason?: string;
  verdict: JobVerdict;
  unpackedBytes?: number;
  rows: number;
  accepted: number;
  rejected: NonNullable<JobDocument['rejected']>;
  filesDone: number;
  errors: JobError[] | null;
}

/** How far the files of a job are loaded. */
type LoadProgress = Required<Pick<JobDocument, 'filesDone' | 'rows' | 'bytesDone'>>;

/** What decides whether a finished job can go. */
export type EndedJob = Pick<JobDocument, '_id' | 'kind' | 'partner' | 'phase' | 'audience' | 'generation'>;

const endedFields = { kind: 1, partner: 1, phase: 1, audience: 1, generation: 1 };
const DAY_MS = 86_400_000;

interface Step {
  id: number;
  from: JobDocument['phase'][];
  /** A further condition; where it does not hold, the job is left unchanged. */
  when?: { filter: Filter<JobDocument>; holds(job: JobDocument): boolean };
  set: Partial<JobDocument>;
  unset?: UpdateFilter<JobDocument>['$unset'];
  /** The job has begun, if it had not before. */
  begins?: true;
}

/** The field is absent in the first attempt. */
const attemptIs = (attempt: number) => ({ $in: attempt === 0 ? [0, undefined] : [attempt] });

export const unfinishedPhases: JobDocument['phase'][] = ['accepted', 'listed', 'decided'];
export const unfinished: Filter<JobDocument> = { phase: { $in: unfinishedPhases } };

/** Unfinished jobs that end in the order of their numbers. */
export const inOrder: Filter<JobDocument> = { ...unfinished, deferred: { $exists: false } };
/** Everything that one job may have to wait for: the loads of an audience, or the jobs of the marketplace. */
export const inSpaceOf = ({ audience }: Pick<JobDocument, 'audience'>): Filter<JobDocument> =>
  audience === null ? { kind: { $in: ['import', 'delete'] } } : { audience };

/** The id at which work goes on (the first unfinished job, or the one after the newest), and the newest id. */
export async function extentOf(
  jobs: Collection<JobDocument>,
  { among = unfinished, session }: { among?: Filter<JobDocument>; session?: ClientSession | undefined } = {},
): Promise<{ first: number; newest: number }> {
  // In this order: a job that is accepted between the two reads is found to be unfinished.
  const last = await jobs.findOne({}, { sort: { _id: -1 }, projection: { _id: 1 }, session });
  const oldest = await jobs.findOne(among, { sort: { _id: 1 }, projection: { _id: 1 }, session });
  const newest = last?._id ?? 0;
  return { first: oldest?._id ?? newest + 1, newest };
}

const deferredFields = {
  partner: 1,
  audience: 1,
  deferred: 1,
  attempt: 1,
  stoppedAt: 1,
  createdAt: 1,
  bytes: 1,
  unpackedBytes: 1,
} as const;
export type DeferredJob = Pick<JobDocument, '_id' | keyof typeof deferredFields>;

export function createJobStore(db: Db) {
  const jobs = jobCollection(db);

  const findMany = (ids: number[]) => jobs.find({ _id: { $in: ids } }).toArray();

  async function idsOf(filter: Filter<JobDocument>): Promise<Set<number>> {
    const found = await jobs.find(filter).project<{ _id: number }>({ _id: 1 }).toArray();
    return new Set(found.map(({ _id }) => _id));
  }

  /** Applies the transitions that are possible, in order, and returns the jobs as they are now. */
  async function take(steps: Step[]): Promise<JobDocument[]> {
    const updatedAt = new Date();
    const updates = steps.map(({ id, from, when, set, unset, begins }) => ({
      filter: { ...when?.filter, _id: id, phase: { $in: from } },
      update: {
        $set: { ...set, updatedAt },
        ...(unset ? { $unset: unset } : {}),
        ...(begins ? { $min: { startedAt: updatedAt } } : {}),
      },
    }));
    if (updates.length > 1)
      await jobs.bulkWrite(
        updates.map((updateOne) => ({ updateOne })),
        { ordered: true },
      );
    else {
      // One round trip instead of two, for a job that comes alone.
      const [{ filter, update }] = updates as [(typeof updates)[number]];
      const job = await jobs.findOneAndUpdate(filter, update, { returnDocument: 'after' });
      if (job) return [job];
    }
    const found = await findMany(steps.map(({ id }) => id));
    const byId = new Map(found.map((job) => [job._id, job]));
    return steps.map(({ id, from, when }) => {
      const job = byId.get(id);
      if (!job || (from.includes(job.phase) && (when?.holds(job) ?? true)))
        throw new StaleRead(`job ${id} is not seen to have gone on`);
      return job;
    });
  }
  const step = groupCommit(take);

  return {
    /** All jobs between two ids: ids have no gaps. */
    range: (first: number, last: number) =>
      jobs
        .find({ _id: { $gte: first, $lte: last } })
        .sort({ _id: 1 })
        .toArray(),

    extent: () => extentOf(jobs),
    /** The same without deferred jobs: everything before the first has ended, or is deferred. */
    extentInOrder: () => extentOf(jobs, { among: inOrder }),

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

    remove: (ids: number[]) => jobs.deleteMany({ _id: { $in: ids } }),

    /** Claims the job and makes this listing its list of files, unless another dispatcher did, or the API withdrew the job. */
    freeze: (id: number, listing: string, fileCount: number, bytes: number) =>
      step({
        id,
        from: ['accepted'],
        set: { phase: 'listed', listing, fileCount, bytes, status: JobStatus.running },
        unset: { listed: '' },
        begins: true,
      }),

    /** Never less than before: files that are dispatched again do not count again. */
    progress: (id: number, progress: LoadProgress) =>
      jobs.updateOne({ _id: id, phase: 'listed' }, { $max: progress, $set: { updatedAt: new Date() } }),

    /** Whether the files of the job are read on. */
    hold: (id: number, isHeld: boolean) =>
      jobs.updateOne({ _id: id }, isHeld ? { $set: { onHold: true } } : { $unset: { onHold: '' } }),

    /** Decides what is merged of the job. No effect if the job is in another attempt by now, or is to be cancelled. */
    decide: (id: number, outcome: Decision) => {
      const { attempt } = outcome.verdict;
      const isCancelled = outcome.errors?.some(({ code }) => code === 'cancelled') ?? false;
      const mayCancel = isCancelled ? {} : { cancelRequested: { $ne: true as const } };
      return step({
        id,
        from: ['accepted', 'listed'],
        when: {
          filter: { attempt: attemptIs(attempt), ...mayCancel },
          holds: (job) => (job.attempt ?? 0) === attempt && (isCancelled || !job.cancelRequested),
        },
        set: { phase: 'decided', status: JobStatus.running, decidedAt: new Date(), ...outcome },
        begins: true,
      });
    },

    /** The files are to be dispatched again, unless another dispatcher has advanced the job. Returns the job as it is then. */
    async nextAttempt({ _id, phase, attempt = 0 }: JobDocument): Promise<JobDocument> {
      await jobs.updateOne(
        { _id, phase, attempt: attemptIs(attempt) },
        { $set: { attempt: attempt + 1, updatedAt: new Date() } },
      );
      const job = await jobs.findOne({ _id });
      if (!job || (job.phase === phase && (job.attempt ?? 0) === attempt))
        throw new StaleRead(`job ${_id} is not seen to be at its next attempt`);
      return job;
    },

    /** A decided job is dropped, unless another dispatcher has advanced it. Returns the job as it is then. */
    async drop({ _id, attempt = 0 }: JobDocument, outcome: Decision): Promise<JobDocument> {
      const set = { ...outcome, attempt: outcome.verdict.attempt, dropRequested: true as const };
      await jobs.updateOne(
        { _id, phase: 'decided', attempt: attemptIs(attempt) },
        { $set: { ...set, updatedAt: new Date() }, $unset: { stoppedAt: '' } },
      );
      const job = await jobs.findOne({ _id });
      if (!job || (job.phase === 'decided' && (job.attempt ?? 0) === attempt))
        throw new StaleRead(`job ${_id} is not seen to be dropped`);
      return job;
    },

    /**
     * The merge is given up: the job waits for an operator. No effect if another dispatcher has advanced it. Returns the job as it is
     * then.
     */
    async stop({ _id, attempt = 0 }: JobDocument, internalReason: string): Promise<JobDocument> {
      const updatedAt = new Date();
      await jobs.updateOne(
        { _id, phase: 'decided', attempt: attemptIs(attempt) },
        { $set: { stoppedAt: updatedAt, deferred: true, internalReason, updatedAt } },
      );
      const job = await jobs.findOne({ _id });
      if (!job || (job.phase === 'decided' && (job.attempt ?? 0) === attempt && !job.stoppedAt))
        throw new StaleRead(`job ${_id} is not seen to be stopped`);
      return job;
    },

    /** Takes unfinished jobs behind stopped ones of their spaces out of the order. */
    async deferBehindStopped(): Promise<void> {
      const stopped = jobs
        .find({ ...unfinished, deferred: true, stoppedAt: { $exists: true } })
        .project<Pick<JobDocument, '_id' | 'audience'>>({ audience: 1 });
      for await (const { _id, audience } of stopped)
        await jobs.updateMany(
          { ...inOrder, ...inSpaceOf({ audience }), _id: { $gt: _id } },
          { $set: { deferred: true } },
        );
    },

    /** Takes one more job out of the order, unless it has ended. */
    defer: (id: number) => jobs.updateOne({ _id: id, ...unfinished }, { $set: { deferred: true } }),

    /** Unfinished jobs that are taken out of the order, oldest first. */
    deferred: () =>
      jobs
        .find({ ...unfinished, deferred: true })
        .sort({ _id: 1 })
        .project<DeferredJob>(deferredFields)
        .toArray(),

    /** Whether an earlier job of the same space is unfinished. */
    hasEarlierInSpace: async ({ _id, audience }: Pick<JobDocument, '_id' | 'audience'>): Promise<boolean> =>
      (await jobs.findOne(
        { ...unfinished, ...inSpaceOf({ audience }), _id: { $lt: _id } },
        { projection: { _id: 1 } },
      )) !== null,

    /** Those of the jobs up to this one that are unfinished. */
    unfinishedUpTo: (id: number) => idsOf({ ...unfinished, _id: { $lte: id } }),
    unfinishedAmong: (ids: number[]) => idsOf({ ...unfinished, _id: { $in: ids } }),

    async recordReason(id: number, internalReason: string): Promise<void> {
      await jobs.updateOne({ _id: id }, { $set: { internalReason } });
    },

    find: (id: number) => jobs.findOne({ _id: id }),
    findMany,

    /** Which of the jobs an operator wants to cancel. */
    cancelRequested: (ids: number[]) => idsOf({ _id: { $in: ids }, cancelRequested: true }),

    /** Which of the jobs have ended. */
    endedAmong: (ids: number[]) => idsOf({ _id: { $in: ids }, phase: 'ended' }),

    /** Whether a load of an older generation of the audience is unfinished, and may still write. */
    async hasOpenBelow(audience: number, generation: number): Promise<boolean> {
      const older = { audience, generation: { $lt: generation } };
      return (await jobs.findOne({ ...older, phase: { $nin: ['ended', 'withdrawn'] } })) !== null;
    },

    /** Ended jobs whose final status may not have been published. */
    statusUnpublished: () => jobs.find({ statusUnpublished: true }).sort({ _id: 1 }).toArray(),
    statusPublished: groupCommit(async (ids: number[]) => {
      await jobs.updateMany({ _id: { $in: ids } }, { $unset: { statusUnpublished: '' } });
    }),

    /** Ends the jobs, in the order given, and erases their storage credentials. Leaves one that was dropped meanwhile as it is. */
    end: (endings: { job: Pick<JobDocument, '_id' | 'dropRequested'>; outcome: JobOutcome }[]) =>
      take(
        endings.map(({ job: { _id, dropRequested }, outcome }) => ({
          id: _id,
          from: ['decided'],
          when: {
            filter: { dropRequested: dropRequested ?? { $exists: false } },
            holds: (job) => job.dropRequested === dropRequested,
          },
          set: { ...outcome, phase: 'ended', statusUnpublished: true },
          unset: { credentials: '', verdict: '', listed: '', onHold: '' },
        })),
      ),
  };
}
