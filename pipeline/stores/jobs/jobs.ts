/**
 * Jobs in dispatch. Each transition is a compare-and-set on the phase: if two dispatchers are active for a moment, one of them
 * succeeds, and the other reads its result.
 */
import type { ClientSession, Collection, Db, Filter } from 'mongodb';
import {
  collections,
  type JobDocument,
  type JobError,
  JobStatus,
  type JobVerdict,
} from '../../../schemas/documents.ts';
import { groupCommit } from '../../runtime/group-commit.ts';
import { StaleRead } from '../bulk.ts';
import { createEndCounters } from './ends.ts';

export type JobStore = ReturnType<typeof createJobStore>;

export const jobCollection = (db: Db) => db.collection<JobDocument>(collections.jobs);

/** Imports and loads that are being merged, perhaps by an owner that was replaced. */
export const decidedLoads = (jobs: ReturnType<typeof jobCollection>) =>
  jobs
    .find({ phase: 'decided', kind: { $in: ['import', 'audience'] } }, { readConcern: { level: 'majority' } })
    .project<Pick<JobDocument, 'audience' | 'generation'>>({ _id: 0, audience: 1, generation: 1 })
    .toArray();

/** The result of a job. */
export type JobOutcome = Pick<
  JobDocument,
  'status' | 'uniqueDevices' | 'suppressed' | 'rows' | 'errors' | 'audienceDevices' | 'newDevices' | 'dropped'
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

export interface JobDecision {
  id: number;
  /** Its jobs are decided in their order. */
  lane: string;
  outcome: Decision;
}

export interface JobEnding {
  job: JobDocument;
  outcome: JobOutcome;
}

export const isUndecided = ({ phase }: JobDocument) => phase === 'accepted' || phase === 'listed';

/** A list of files that was stored. */
type FrozenList = Required<Pick<JobDocument, 'listing' | 'listingAt' | 'fileCount' | 'bytes'>> &
  Pick<JobDocument, 'prefixMatches'>;

/** The field is absent in the first attempt. */
const attemptIs = (attempt: number) => ({ $in: attempt === 0 ? [0, undefined] : [attempt] });

export const unfinishedPhases: JobDocument['phase'][] = ['accepted', 'listed', 'decided'];
export const unfinished: Filter<JobDocument> = { phase: { $in: unfinishedPhases } };

/** The id at which work goes on (the first unfinished job, or the one after the newest), and the newest id. */
export async function extentOf(jobs: Collection<JobDocument>): Promise<{ first: number; newest: number }> {
  // In this order: a job that is accepted between the two reads is found to be unfinished.
  const last = await jobs.findOne({}, { sort: { _id: -1 }, projection: { _id: 1 } });
  const oldest = await jobs.findOne(unfinished, { sort: { _id: 1 }, projection: { _id: 1 } });
  const newest = last?._id ?? 0;
  return { first: oldest?._id ?? newest + 1, newest };
}

export function createJobStore(db: Db) {
  const jobs = jobCollection(db);
  const ends = createEndCounters(db);

  async function findMany(ids: number[], session?: ClientSession): Promise<Map<number, JobDocument>> {
    const found = await jobs.find({ _id: { $in: ids } }, { session }).toArray();
    return new Map(found.map((job) => [job._id, job]));
  }

  const inTransaction = <T>(work: (session: ClientSession) => Promise<T>): Promise<T> =>
    db.client.withSession((session) => session.withTransaction(() => work(session)));

  async function replaceAll(documents: JobDocument[], session: ClientSession): Promise<void> {
    if (documents.length === 0) return;
    const writes = documents.map(({ _id, ...replacement }) => ({
      replaceOne: { filter: { _id }, replacement },
    }));
    await jobs.bulkWrite(writes, { session });
  }

  async function idsOf(filter: Filter<JobDocument>): Promise<Set<number>> {
    const found = await jobs.find(filter).project<{ _id: number }>({ _id: 1 }).toArray();
    return new Set(found.map(({ _id }) => _id));
  }

  /** Freezes the lists of jobs that have none, and returns the jobs as they are then. */
  const freeze = groupCommit(async (lists: (FrozenList & { _id: number })[]): Promise<JobDocument[]> => {
    const updatedAt = new Date();
    const running = { phase: 'listed', status: JobStatus.running, updatedAt } as const;
    const updates = lists.map(({ _id, ...list }) => ({
      filter: { _id, phase: 'accepted' as const },
      update: {
        $set: { ...list, ...running },
        $unset: { listed: '' },
        $min: { startedAt: updatedAt },
      } as const,
    }));
    if (updates.length > 1) await jobs.bulkWrite(updates.map((updateOne) => ({ updateOne })));
    else {
      // One round trip instead of two, for a job that comes alone.
      const [{ filter, update }] = updates as [(typeof updates)[number]];
      const job = await jobs.findOneAndUpdate(filter, update, { returnDocument: 'after' });
      if (job) return [job];
    }
    const byId = await findMany(lists.map(({ _id }) => _id));
    return lists.map(({ _id }) => {
      const job = byId.get(_id);
      if (!job || job.phase === 'accepted') throw new StaleRead(`job ${_id} is not seen to be listed`);
      return job;
    });
  });

  return {
    /** Unfinished jobs from this number on, oldest first. */
    unfinishedFrom: (first: number, limit: number) =>
      jobs
        .find({ ...unfinished, _id: { $gte: first } })
        .sort({ _id: 1 })
        .limit(limit)
        .toArray(),

    extent: () => extentOf(jobs),

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
    freeze: (_id: number, list: FrozenList) => freeze({ _id, ...list }),

    /** Never less than before: files that are dispatched again do not count again. */
    progress: (id: number, progress: LoadProgress) =>
      jobs.updateOne({ _id: id, phase: 'listed' }, { $max: progress, $set: { updatedAt: new Date() } }),

    /** Whether the files of the job are read on. */
    hold: (id: number, isHeld: boolean) =>
      jobs.updateOne({ _id: id }, isHeld ? { $set: { onHold: true } } : { $unset: { onHold: '' } }),

    /**
     * Decides what is merged of the jobs, in the order given. One that is in another attempt by now, or is to be cancelled, is left as it
     * is, and so are those behind it in its lane. Returns the jobs as they are then.
     */
    decide: (decisions: JobDecision[]): Promise<JobDocument[]> =>
      inTransaction(async (session) => {
        const current = await findMany(
          decisions.map(({ id }) => id),
          session,
        );
        const held = new Set<string>();
        const changed = decisions.map(({ id, lane, outcome }): JobDocument => {
          const job = current.get(id);
          if (!job) throw new StaleRead(`job ${id} is not seen`);
          if (!isUndecided(job)) return job;
          const { attempt } = outcome.verdict;
          const isCancelled = outcome.errors?.some(({ code }) => code === 'cancelled') ?? false;
          if ((job.attempt ?? 0) !== attempt || (job.cancelRequested && !isCancelled)) held.add(lane);
          if (held.has(lane)) return job;
          const now = new Date();
          const decided = {
            phase: 'decided',
            status: JobStatus.running,
            decidedAt: now,
            updatedAt: now,
          } as const;
          return { ...job, ...outcome, ...decided, startedAt: job.startedAt ?? now };
        });
        await replaceAll(
          changed.filter((job) => job !== current.get(job._id)),
          session,
        );
        return changed;
      }),

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
        { $set: { stoppedAt: updatedAt, internalReason, updatedAt } },
      );
      const job = await jobs.findOne({ _id });
      if (!job || (job.phase === 'decided' && (job.attempt ?? 0) === attempt && !job.stoppedAt))
        throw new StaleRead(`job ${_id} is not seen to be stopped`);
      return job;
    },

    /** Unfinished jobs with attempts that were given up. */
    attempts: () =>
      jobs
        .find({ ...unfinished, $or: [{ attempt: { $gt: 0 } }, { stoppedAt: { $exists: true } }] })
        .project<Pick<JobDocument, '_id' | 'attempt' | 'stoppedAt'>>({ attempt: 1, stoppedAt: 1 })
        .toArray(),

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

    decidedLoads: () => decidedLoads(jobs),

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

    /**
     * Ends the jobs, numbers their ends in the order given, and erases their storage credentials. Leaves one that has ended or was dropped
     * meanwhile as it is. Returns the jobs as they are then.
     */
    end: (endings: JobEnding[]): Promise<JobDocument[]> =>
      inTransaction(async (session) => {
        const current = await findMany(
          endings.map(({ job }) => job._id),
          session,
        );
        const isOpen = ({ job }: JobEnding) => {
          const now = current.get(job._id);
          return now?.phase === 'decided' && now.dropRequested === job.dropRequested;
        };
        const open = endings.filter(isOpen);
        const last =
          open.length > 0
            ? await ends.add(
                open.map(({ job }) => job),
                session,
              )
            : 0;
        open.forEach(({ job: { _id }, outcome }, i) => {
          const {
            credentials: _1,
            verdict: _2,
            listed: _3,
            onHold: _4,
            identifiers: _5,
            ...job
          } = current.get(_id)!;
          const ended = { phase: 'ended', statusUnpublished: true, updatedAt: new Date() } as const;
          current.set(_id, { ...job, ...outcome, ...ended, endNumber: last - open.length + 1 + i });
        });
        await replaceAll(
          open.map(({ job }) => current.get(job._id)!),
          session,
        );
        return endings.map(({ job: { _id } }) => {
          const job = current.get(_id);
          if (!job) throw new StaleRead(`job ${_id} is not seen`);
          return job;
        });
      }),
  };
}
