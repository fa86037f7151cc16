/** Jobs as partners and operators see them. Partners do not see withdrawn jobs: those were never accepted. */
import type { Binary, ClientSession, Db, Filter } from 'mongodb';
import type { Config } from '../../../schemas/config.ts';
import {
  type AudienceDocument,
  type JobDocument,
  type JobPhase,
  JobStatus,
  jobKinds,
} from '../../../schemas/documents.ts';
import { containing, inScope, type Scope } from '../audiences.ts';
import { READ_AT_ONCE } from '../mongo.ts';
import { decidedLoads, extentOf, jobCollection, unfinished, unfinishedPhases } from './jobs.ts';

type Order = Config['order'];
export type JobQueryStore = ReturnType<typeof createJobQueryStore>;

/** The fields that the caller wants. */
type Fields<Field extends keyof JobDocument> = Readonly<Record<Field, 1>>;
type Shown<Field extends keyof JobDocument> = Pick<JobDocument, '_id' | Field>;

export type OpenLoad = Pick<JobDocument, 'audience' | 'generation' | 'phase' | 'updatedAt'>;
export type ListedJob = Pick<JobDocument, '_id' | 'phase' | 'listing'>;
type SealedJob = Pick<JobDocument, '_id' | 'partner'> & { credentials: Binary };

/** All of them: the index by partner has the kind in front of the number. */
const kinds = [...jobKinds];

const openLoad = { _id: 0, audience: 1, generation: 1, phase: 1, updatedAt: 1 };

/** The phases in which a job's list of files is frozen. */
export const frozen: JobPhase[] = ['listed', 'decided', 'ended'];

const importLogs = (partner: string): Filter<JobDocument> => ({
  partner,
  kind: { $in: ['import', 'delete'] },
  phase: { $ne: 'withdrawn' },
});

const privacyRequests = (partner: string | undefined): Filter<JobDocument> => ({
  ...(partner === undefined ? {} : { partner }),
  kind: 'privacy',
  phase: { $ne: 'withdrawn' },
});

/** Unfinished jobs that end before this one: those of its partner, or all. */
const aheadOf = (
  { _id, partner }: Pick<JobDocument, '_id' | 'partner'>,
  order: Order,
): Filter<JobDocument> => ({
  ...unfinished,
  ...(order === 'partner' ? { partner, kind: { $in: kinds } } : {}),
  _id: { $lt: _id },
});

interface ImportLogFilter {
  limit: number;
  /** How long MongoDB may look: a rare text is looked for in everything that the partner ever imported. */
  maxMs: number;
  before?: number | undefined;
  status?: JobStatus | undefined;
  /** Part of the path, in any case. */
  search?: string | undefined;
}

/** By phase where that says the same: unfinished jobs, and failed ones, are few among many and have an index. */
const inStatus: Record<JobStatus, Filter<JobDocument>> = {
  [JobStatus.pending]: { phase: 'accepted' },
  [JobStatus.running]: { phase: { $in: ['listed', 'decided'] } },
  [JobStatus.done]: { status: JobStatus.done },
  [JobStatus.error]: { status: JobStatus.error },
};

/** Of all generations: loads that a clear has cancelled are included. */
const loadsOf = ({ _id, partner }: AudienceDocument): Filter<JobDocument> => ({
  audience: _id,
  partner,
  kind: 'audience',
  phase: { $ne: 'withdrawn' },
});

export function createJobQueryStore(db: Db) {
  const jobs = jobCollection(db);

  return {
    find: (id: number) => jobs.findOne({ _id: id }),

    findShown: <Field extends keyof JobDocument>(id: number, fields: Fields<Field>) =>
      jobs.findOne<Shown<Field>>({ _id: id }, { projection: fields }),

    /** Newest first, as the bytes that MongoDB sent. */
    listImportLogs: (partner: string, limit: number, fields: Partial<Fields<keyof JobDocument>>) =>
      jobs
        .find<Uint8Array>(importLogs(partner), { projection: fields, batchSize: limit + 1, raw: true })
        .sort({ _id: -1 })
        .limit(limit)
        .toArray(),

    /** The same, filtered, from before a job on. */
    searchImportLogs: <Field extends keyof JobDocument>(
      partner: string,
      fields: Fields<Field>,
      { limit, maxMs, before, status, search }: ImportLogFilter,
    ) =>
      jobs
        .find({
          ...importLogs(partner),
          ...(status === undefined ? {} : inStatus[status]),
          ...(search === undefined ? {} : { filePath: containing(search) }),
          ...(before === undefined ? {} : { _id: { $lt: before } }),
        })
        .maxTimeMS(maxMs)
        .sort({ _id: -1 })
        .limit(limit)
        .project<Shown<Field>>(fields)
        .toArray(),

    findImportLog: <Field extends keyof JobDocument>(partner: string, id: number, fields: Fields<Field>) =>
      jobs.findOne<Shown<Field>>({ _id: id, ...importLogs(partner) }, { projection: fields }),

    /** Privacy requests about the data of a partner, or all of them; newest first. */
    listRequests: <Field extends keyof JobDocument>(
      partner: string | undefined,
      fields: Fields<Field>,
      { limit, before }: { limit: number; before?: number | undefined },
    ) =>
      jobs
        .find({ ...privacyRequests(partner), ...(before === undefined ? {} : { _id: { $lt: before } }) })
        .sort({ _id: -1 })
        .limit(limit)
        .project<Shown<Field>>(fields)
        .toArray(),

    findRequest: <Field extends keyof JobDocument>(
      partner: string | undefined,
      id: number,
      fields: Fields<Field>,
    ) => jobs.findOne<Shown<Field>>({ _id: id, ...privacyRequests(partner) }, { projection: fields }),

    decidedLoads: () => decidedLoads(jobs),

    /** Every job before this one has ended. */
    firstUnfinished: async (): Promise<number> => (await extentOf(jobs)).first,

    /** Jobs of these partners by the numbers of their ends. */
    endedBetween: <Field extends keyof JobDocument>(
      { after, upTo }: { after: number; upTo: number },
      partners: string[],
      fields: Fields<Field>,
      session?: ClientSession,
    ): Promise<Shown<Field>[]> =>
      jobs
        .find({ endNumber: { $gt: after, $lte: upTo }, partner: { $in: partners } }, { session })
        .hint('ends')
        .sort({ endNumber: 1 })
        .project<Shown<Field>>(fields)
        .toArray(),

    /** Pending and running loads of all the partner's audiences, or of one. */
    openLoads: (partner: string, audience?: number): Promise<OpenLoad[]> =>
      jobs
        .find(
          { partner, kind: 'audience', ...unfinished, ...(audience === undefined ? {} : { audience }) },
          { projection: openLoad },
        )
        .toArray(),

    /** Those that exist. */
    findAll: <Field extends keyof JobDocument>(
      ids: number[],
      fields: Fields<Field>,
      session?: ClientSession,
    ): Promise<Shown<Field>[]> =>
      jobs
        .find({ _id: { $in: ids } }, { session })
        .project<Shown<Field>>(fields)
        .toArray(),

    /** Pending and running loads of these audiences. */
    openLoadsOf: (audiences: number[], session?: ClientSession): Promise<OpenLoad[]> =>
      jobs
        .find(
          { audience: { $in: audiences }, kind: 'audience', ...unfinished },
          { projection: openLoad, session },
        )
        .toArray(),

    /** Loads that clears have cancelled, although dispatch has not reached them yet; the newest of them. */
    cancelledLoads: <Field extends keyof JobDocument>(
      audiences: Pick<AudienceDocument, '_id' | 'generation'>[],
      fields: Fields<Field>,
      { limit, session }: { limit: number; session?: ClientSession },
    ): Promise<Shown<Field>[]> =>
      jobs
        .find(
          {
            $or: audiences.map(({ _id, generation }) => ({
              audience: _id,
              generation: { $lt: generation },
              kind: 'audience' as const,
              phase: { $in: ['accepted', 'listed'] as JobPhase[] },
            })),
          },
          { session },
        )
        .sort({ _id: -1 })
        .limit(limit)
        .project<Shown<Field>>(fields)
        .toArray(),

    /** Loads of the audience in this generation whose lists of files are frozen, oldest first. */
    async *listedLoads(audience: number, generation: number): AsyncGenerator<ListedJob> {
      for (let after = 0; ; ) {
        const some = await jobs
          .find({ audience, generation, kind: 'audience', phase: { $in: frozen }, _id: { $gt: after } })
          .sort({ _id: 1 })
          .limit(READ_AT_ONCE)
          .project<ListedJob>({ phase: 1, listing: 1 })
          .toArray();
        yield* some;
        if (some.length < READ_AT_ONCE) return;
        after = some.at(-1)!._id;
      }
    },

    /** Newest first. */
    listLoads: <Field extends keyof JobDocument>(
      audience: AudienceDocument,
      fields: Fields<Field>,
      { limit, before }: { limit: number; before?: number | undefined },
    ) =>
      jobs
        .find({ ...loadsOf(audience), ...(before === undefined ? {} : { _id: { $lt: before } }) })
        .sort({ _id: -1 })
        .limit(limit)
        .project<Shown<Field>>(fields)
        .toArray(),

    findLoad: <Field extends keyof JobDocument>(
      audience: AudienceDocument,
      id: number,
      fields: Fields<Field>,
    ) => jobs.findOne<Shown<Field>>({ ...loadsOf(audience), _id: id }, { projection: fields }),

    /** The job that creates the audience. */
    findMaker: (scope: Scope, audience: number) =>
      jobs.findOne({
        _id: audience,
        kind: 'audience',
        audience,
        phase: { $ne: 'withdrawn' },
        ...inScope(scope),
      }),

    /** Unfinished jobs, oldest first, so that what blocks the queue is at the top; or all jobs, newest first. */
    list: (options: { partner?: string | undefined; all: boolean; limit: number }): Promise<JobDocument[]> =>
      jobs
        .find({
          ...(options.all ? {} : unfinished),
          ...(options.partner === undefined ? {} : { partner: options.partner, kind: { $in: kinds } }),
        })
        .sort({ _id: options.all ? -1 : 1 })
        .limit(options.limit)
        .toArray(),

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
    countStopped: (maxTimeMS: number) =>
      jobs.countDocuments({ phase: 'decided', stoppedAt: { $exists: true } }, { maxTimeMS }),

    /** How many unfinished jobs are ahead of this one. */
    countBefore: (job: Pick<JobDocument, '_id' | 'partner'>, order: Order) =>
      jobs.countDocuments(aheadOf(job, order)),

    /** The unfinished jobs ahead of this one. */
    async earlierThan(job: JobDocument, order: Order) {
      const { audience } = job;
      const before = aheadOf(job, order);
      const isStopped = { phase: 'decided' as const, stoppedAt: { $exists: true } };
      const [first, count, ofAudience, stopped] = await Promise.all([
        jobs.findOne(before, { sort: { _id: 1 }, projection: { _id: 1 } }),
        jobs.countDocuments(before),
        audience === null
          ? null
          : jobs.findOne({ ...before, audience }, { sort: { _id: -1 }, projection: { _id: 1 } }),
        jobs.findOne({ ...before, ...isStopped }, { sort: { _id: 1 }, projection: { _id: 1 } }),
      ]);
      return { first: first?._id, count, ofAudience: ofAudience?._id, stopped: stopped?._id };
    },

    /** Has dispatch try again to merge a stopped job; or end it, without merging more of it. Null if it is not stopped. */
    goOn: (id: number, how: 'retry' | 'drop') =>
      jobs.findOneAndUpdate(
        { _id: id, phase: 'decided', stoppedAt: { $exists: true } },
        {
          $unset: { stoppedAt: '' },
          // Sinks have given up the attempt before.
          $inc: { attempt: 1 },
          $set: { updatedAt: new Date(), ...(how === 'drop' ? { dropRequested: true as const } : {}) },
        },
        { returnDocument: 'after' },
      ),

    /** Dispatch will end the job as `cancelled`, without merging any of it. Null if it is decided or has ended: too late. */
    requestCancel: (id: number) =>
      jobs.findOneAndUpdate(
        { _id: id, phase: { $in: ['accepted', 'listed'] } },
        { $set: { cancelRequested: true, updatedAt: new Date() } },
        { returnDocument: 'after' },
      ),

    /** The same for all jobs of a partner for which it is not too late. Returns how many these are. */
    async requestCancelAll(partner: string): Promise<number> {
      const { modifiedCount } = await jobs.updateMany(
        {
          partner,
          kind: { $in: kinds },
          phase: { $in: ['accepted', 'listed'] },
          cancelRequested: { $ne: true },
        },
        { $set: { cancelRequested: true, updatedAt: new Date() } },
      );
      return modifiedCount;
    },

    withCredentials: () =>
      jobs
        .find({ ...unfinished, credentials: { $type: 'binData' } })
        .project<SealedJob>({ partner: 1, credentials: 1 }),

    /** False if they were erased or replaced in the meantime. */
    async replaceCredentials({ _id, credentials }: SealedJob, by: Binary): Promise<boolean> {
      const result = await jobs.updateOne({ _id, credentials }, { $set: { credentials: by } });
      return result.modifiedCount === 1;
    },
  };
}
