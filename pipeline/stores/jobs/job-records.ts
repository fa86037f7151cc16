/** Jobs as partners see them. Excludes withdrawn jobs, which were never accepted. */
import type { ClientSession, Db, Filter } from 'mongodb';
import type { Addition, Additions, AudienceDocument } from '../../../schemas/documents.ts';
import { EVERYONE, type JobDocument, type JobPhase, JobStatus } from '../../../schemas/job-documents.ts';
import { containing, inScope, type Scope } from '../audiences.ts';
import { READ_AT_ONCE } from '../mongo.ts';
import { type Fields, jobCollection, type Shown, unfinished } from './job-collection.ts';

export type OpenLoad = Pick<JobDocument, 'audience' | 'generation' | 'phase' | 'updatedAt'>;
export type ListedJob = Pick<JobDocument, '_id' | 'phase' | 'listing'>;
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

interface ImportLogFilter {
  limit: number;
  /** Time limit of the query: a rare text makes MongoDB scan all imports of the partner. */
  maxMs: number;
  before?: number | undefined;
  status?: JobStatus | undefined;
  /** Substring of the path, case-insensitive. */
  search?: string | undefined;
}

/** Filters by phase where possible, because unfinished and failed jobs are few and have an index. */
const inStatus: Record<JobStatus, Filter<JobDocument>> = {
  [JobStatus.pending]: { phase: 'accepted' },
  [JobStatus.running]: { phase: { $in: ['listed', 'decided'] } },
  [JobStatus.done]: { status: JobStatus.done },
  [JobStatus.error]: { status: JobStatus.error },
};

/** Loads of all generations, including those cancelled by a clear. */
const loadsOf = ({ _id, partner }: AudienceDocument): Filter<JobDocument> => ({
  audience: _id,
  partner,
  kind: 'audience',
  phase: { $ne: 'withdrawn' },
});

export function createJobRecords(db: Db) {
  const jobs = jobCollection(db);

  return {
    findShown: <Field extends keyof JobDocument>(id: number, fields: Fields<Field>) =>
      jobs.findOne<Shown<Field>>({ _id: id }, { projection: fields }),

    /** Newest first, as raw BSON. */
    listImportLogs: (partner: string, limit: number, fields: Partial<Fields<keyof JobDocument>>) =>
      jobs
        .find<Uint8Array>(importLogs(partner), { projection: fields, batchSize: limit + 1, raw: true })
        .sort({ _id: -1 })
        .limit(limit)
        .toArray(),

    /** Filtered and paged. */
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

    /** The operator's requests with this source and reason. */
    requestsFor: (why: Required<Pick<JobDocument, 'source' | 'reason'>>) =>
      jobs
        .find({ ...privacyRequests(EVERYONE), ...why })
        .sort({ _id: 1 })
        .project<Shown<'phase' | 'status'>>({ phase: 1, status: 1 })
        .toArray(),

    /** Jobs of these partners whose ends are numbered in this range. */
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

    /** Skips jobs that do not exist. */
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

    /** Loads cancelled by a clear that dispatch has not ended yet, newest first. */
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

    /** Loads of this generation of the audience with a frozen list of files, oldest first. */
    async *listedLoads(audience: number, generation: number): AsyncGenerator<ListedJob> {
      for (let after = 0; ; ) {
        const page = await jobs
          .find({ audience, generation, kind: 'audience', phase: { $in: frozen }, _id: { $gt: after } })
          .sort({ _id: 1 })
          .limit(READ_AT_ONCE)
          .project<ListedJob>({ phase: 1, listing: 1 })
          .toArray();
        yield* page;
        if (page.length < READ_AT_ONCE) return;
        after = page.at(-1)!._id;
      }
    },

    /** The first and the last load that added devices to this generation of the audience. */
    async additionsTo(audience: number, generation: number): Promise<Additions | undefined> {
      const filter = {
        audience,
        generation,
        kind: 'audience',
        phase: 'ended',
        newDevices: { $gt: 0 },
      } as const;
      const [first, last] = await Promise.all(
        ([1, -1] as const).map((order) =>
          jobs.findOne(filter, { sort: { _id: order }, projection: { createdAt: 1 } }),
        ),
      );
      const toAddition = ({ _id, createdAt }: JobDocument): Addition => ({ job: _id, at: createdAt });
      return first && last ? { first: toAddition(first), last: toAddition(last) } : undefined;
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

    /** The job that created the audience. */
    findMaker: (scope: Scope, audience: number) =>
      jobs.findOne({
        _id: audience,
        kind: 'audience',
        audience,
        phase: { $ne: 'withdrawn' },
        ...inScope(scope),
      }),
  };
}
