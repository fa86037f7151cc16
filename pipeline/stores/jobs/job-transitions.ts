/**
 * Moves jobs from phase to phase. Each transition is a compare-and-set on the phase: if two dispatchers are active for a moment, one
 * succeeds and the other reads its result.
 */
import type { ClientSession, Db, UpdateFilter } from 'mongodb';
import {
  type FileDocument,
  type JobDocument,
  type JobError,
  JobStatus,
  type JobVerdict,
  type PartialListing,
} from '../../../schemas/job-documents.ts';
import { groupCommit } from '../../runtime/group-commit.ts';
import { StaleRead } from '../bulk.ts';
import { createCounterStore } from '../counters.ts';
import { createFileStore } from '../files.ts';
import { isUndecided, jobCollection, undecidedPhases } from './job-collection.ts';
import { findJobs } from './job-reads.ts';

/** The result of a job. */
export type JobOutcome = Pick<
  JobDocument,
  'status' | 'uniqueDevices' | 'suppressed' | 'rows' | 'errors' | 'audienceDevices' | 'newDevices' | 'dropped'
>;

/** The decision on a job, stored before it is merged. */
export interface Decision {
  /** For the operator: why the service failed to process the job. */
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

export interface JobDecision {
  id: number;
  /** The jobs of a lane are decided in order. */
  lane: string;
  outcome: Decision;
}

interface JobEnding {
  job: JobDocument;
  outcome: JobOutcome;
}

/** A list of files that was stored. */
type FrozenList = Required<Pick<JobDocument, 'listing' | 'listingAt' | 'fileCount' | 'bytes'>> &
  Pick<JobDocument, 'prefixMatches'>;

const inAttempt = (attempt: number) => ({ attempt: { $in: attempt === 0 ? [0, undefined] : [attempt] } });

export function createJobTransitions(db: Db) {
  const jobs = jobCollection(db);
  const files = createFileStore(db);
  const counters = createCounterStore(db);

  const inTransaction = <T>(work: (session: ClientSession) => Promise<T>): Promise<T> =>
    db.client.withSession((session) => session.withTransaction(() => work(session)));

  async function replaceAll(documents: JobDocument[], session: ClientSession): Promise<void> {
    if (documents.length === 0) return;
    const writes = documents.map(({ _id, ...replacement }) => ({
      replaceOne: { filter: { _id }, replacement },
    }));
    await jobs.bulkWrite(writes, { session });
  }

  /** Freezes the lists of jobs that have none. Returns the current jobs. */
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
      // A single job takes one round trip instead of two.
      const [{ filter, update }] = updates as [(typeof updates)[number]];
      const job = await jobs.findOneAndUpdate(filter, update, { returnDocument: 'after' });
      if (job) return [job];
    }
    const byId = await findJobs(
      jobs,
      lists.map(({ _id }) => _id),
    );
    return lists.map(({ _id }) => {
      const job = byId.get(_id);
      if (!job || job.phase === 'accepted')
        throw new StaleRead(`the listing of job ${_id} is not visible yet`);
      return job;
    });
  });

  const isCancellation = ({ errors }: Decision) => errors?.some(({ code }) => code === 'cancelled') ?? false;
  const decidedAt = (now: Date) =>
    ({ phase: 'decided', status: JobStatus.running, decidedAt: now, updatedAt: now }) as const;

  /** Null if the job cannot be decided, or is already. */
  function decideOne({ id, outcome }: JobDecision): Promise<JobDocument | null> {
    const { attempt } = outcome.verdict;
    const now = new Date();
    return jobs.findOneAndUpdate(
      {
        _id: id,
        phase: { $in: undecidedPhases },
        ...inAttempt(attempt),
        ...(isCancellation(outcome) ? {} : { cancelRequested: { $ne: true } }),
      },
      { $set: { ...outcome, ...decidedAt(now) }, $min: { startedAt: now } },
      { returnDocument: 'after' },
    );
  }

  const decideAll = (decisions: JobDecision[]): Promise<JobDocument[]> =>
    inTransaction(async (session) => {
      const current = await findJobs(
        jobs,
        decisions.map(({ id }) => id),
        session,
      );
      const held = new Set<string>();
      const changed = decisions.map(({ id, lane, outcome }): JobDocument => {
        const job = current.get(id);
        if (!job) throw new StaleRead(`job ${id} is not visible yet`);
        if (!isUndecided(job)) return job;
        const { attempt } = outcome.verdict;
        if ((job.attempt ?? 0) !== attempt || (job.cancelRequested && !isCancellation(outcome)))
          held.add(lane);
        if (held.has(lane)) return job;
        const now = new Date();
        return { ...job, ...outcome, ...decidedAt(now), startedAt: job.startedAt ?? now };
      });
      await replaceAll(
        changed.filter((job) => job !== current.get(job._id)),
        session,
      );
      return changed;
    });

  /** No effect if another dispatcher has advanced the job. Returns the current job. */
  async function advance(
    { _id, phase, attempt = 0 }: JobDocument,
    { $set, ...update }: UpdateFilter<JobDocument>,
    what: string,
    isSeen: (now: JobDocument) => boolean = () => false,
  ): Promise<JobDocument> {
    const filter = { _id, phase, ...inAttempt(attempt) };
    await jobs.updateOne(filter, { ...update, $set: { ...$set, updatedAt: new Date() } });
    const job = await jobs.findOne({ _id });
    if (!job || (job.phase === phase && (job.attempt ?? 0) === attempt && !isSeen(job)))
      throw new StaleRead(`job ${_id} is not visible as ${what} yet`);
    return job;
  }

  return {
    remove: (ids: number[]) => jobs.deleteMany({ _id: { $in: ids } }),

    /**
     * Stores a page of a listing and the position after it, where a new dispatcher resumes, in one transaction. False: the listing or the
     * job has already advanced.
     */
    addPage: (
      job: number,
      before: PartialListing | undefined,
      listed: PartialListing,
      documents: FileDocument[],
    ): Promise<boolean> =>
      inTransaction(async (session) => {
        const unchanged = before
          ? { 'listed.listing': before.listing, 'listed.after': before.after }
          : { listed: { $exists: false } };
        const { matchedCount } = await jobs.updateOne(
          { _id: job, phase: 'accepted', ...unchanged },
          { $set: { listed } },
          { session },
        );
        if (matchedCount === 0) return false;
        await files.insertPage(documents, session);
        return true;
      }),

    /** Claims the job and freezes this listing, unless another dispatcher did so or the API withdrew the job. */
    freeze: (_id: number, list: FrozenList) => freeze({ _id, ...list }),

    /** Never decreases: files that are published again do not count again. */
    progress: (id: number, progress: LoadProgress) =>
      jobs.updateOne({ _id: id, phase: 'listed' }, { $max: progress, $set: { updatedAt: new Date() } }),

    /** Pauses or resumes reading the job's files. */
    hold: (id: number, isHeld: boolean) =>
      jobs.updateOne({ _id: id }, isHeld ? { $set: { onHold: true } } : { $unset: { onHold: '' } }),

    /**
     * Stores the decisions on jobs, in the order given. Skips a job that has moved to another attempt or is to be cancelled, and the jobs
     * after it in its lane. Returns the current jobs.
     */
    async decide(decisions: JobDecision[]): Promise<JobDocument[]> {
      const [single, ...more] = decisions as [JobDecision];
      // Takes one round trip instead of three.
      const decided = more.length === 0 && (await decideOne(single));
      return decided ? [decided] : decideAll(decisions);
    },

    /** The files must be published again. */
    nextAttempt: (job: JobDocument) =>
      advance(job, { $set: { attempt: (job.attempt ?? 0) + 1 } }, 'at its next attempt'),

    /** Drops a decided job. */
    drop: (job: JobDocument, outcome: Decision) =>
      advance(
        { ...job, phase: 'decided' },
        {
          $set: { ...outcome, attempt: outcome.verdict.attempt, dropRequested: true },
          $unset: { stoppedAt: '' },
        },
        'dropped',
      ),

    /** Gives up the merge: the job waits for an operator. */
    stop: (job: JobDocument, internalReason: string) =>
      advance(
        { ...job, phase: 'decided' },
        { $set: { stoppedAt: new Date(), internalReason } },
        'stopped',
        (now) => now.stoppedAt !== undefined,
      ),

    async recordReason(id: number, internalReason: string): Promise<void> {
      await jobs.updateOne({ _id: id }, { $set: { internalReason } });
    },

    statusPublished: groupCommit(async (ids: number[]) => {
      await jobs.updateMany({ _id: { $in: ids } }, { $unset: { statusUnpublished: '' } });
    }),

    /**
     * Ends the jobs, numbers their ends in the order given, and erases their storage credentials. Skips jobs that have ended or were
     * dropped meanwhile. Commits when `isCounted` has resolved. Returns the current jobs.
     */
    end: (endings: JobEnding[], isCounted: Promise<unknown> = Promise.resolve()): Promise<JobDocument[]> =>
      inTransaction(async (session) => {
        const current = await findJobs(
          jobs,
          endings.map(({ job }) => job._id),
          session,
        );
        const isOpen = ({ job }: JobEnding) => {
          const now = current.get(job._id);
          return now?.phase === 'decided' && now.dropRequested === job.dropRequested;
        };
        const open = endings.filter(isOpen);
        const first = await counters.addEnds(
          open.map(({ job }) => job),
          session,
        );
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
          current.set(_id, { ...job, ...outcome, ...ended, endNumber: first + i });
        });
        await replaceAll(
          open.map(({ job }) => current.get(job._id)!),
          session,
        );
        await isCounted;
        return endings.map(({ job: { _id } }) => {
          const job = current.get(_id);
          if (!job) throw new StaleRead(`job ${_id} is not visible yet`);
          return job;
        });
      }),
  };
}
