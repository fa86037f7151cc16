/** Jobs as partners and operators see them. A withdrawn one was never accepted: no partner sees it. */
import type { Binary, Db, Filter } from 'mongodb';
import type { AudienceDocument, JobDocument, JobPhase } from '../../schemas/documents.ts';
import { inScope, type Scope } from './audiences.ts';
import { jobCollection, unfinished } from './jobs.ts';

export type JobQueryStore = ReturnType<typeof createJobQueryStore>;

/** The fields that a caller shows. */
type Fields<Field extends keyof JobDocument> = Readonly<Record<Field, 1>>;
type Shown<Field extends keyof JobDocument> = Pick<JobDocument, '_id' | Field>;

export type OpenLoad = Pick<JobDocument, 'audience' | 'generation' | 'phase' | 'updatedAt'>;
export type ListedJob = Pick<JobDocument, '_id' | 'phase' | 'listing'>;
type SealedJob = Pick<JobDocument, '_id' | 'partner'> & { credentials: Binary };

/** Phases of a job whose list of files is frozen. */
export const frozen: JobPhase[] = ['loading', 'sealed', 'ended'];

const importLogs = (partner: string): Filter<JobDocument> => ({
  partner,
  kind: { $in: ['import', 'delete'] },
  phase: { $ne: 'withdrawn' },
});

/** Of all generations: what a clear has cancelled shows too. */
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

    /** Newest first, as the bytes that MongoDB sent. */
    listImportLogs: (partner: string, limit: number, fields: Partial<Fields<keyof JobDocument>>) =>
      jobs
        .find<Uint8Array>(importLogs(partner), { projection: fields, batchSize: limit + 1, raw: true })
        .sort({ _id: -1 })
        .limit(limit)
        .toArray(),

    findImportLog: <Field extends keyof JobDocument>(partner: string, id: number, fields: Fields<Field>) =>
      jobs.findOne<Shown<Field>>({ _id: id, ...importLogs(partner) }, { projection: fields }),

    /** Loads that wait or run: of the partner's audiences, or of one of them. */
    openLoads: (partner: string, audience?: number): Promise<OpenLoad[]> =>
      jobs
        .find(
          { partner, kind: 'audience', ...unfinished, ...(audience === undefined ? {} : { audience }) },
          { projection: { _id: 0, audience: 1, generation: 1, phase: 1, updatedAt: 1 } },
        )
        .toArray(),

    /** The loads of one generation of an audience whose lists are frozen, oldest first. */
    listedLoads: (audience: number, generation: number): Promise<ListedJob[]> =>
      jobs
        .find({ audience, generation, kind: 'audience', phase: { $in: frozen } })
        .sort({ _id: 1 })
        .project<ListedJob>({ phase: 1, listing: 1 })
        .toArray(),

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

    /** The job that makes the audience. */
    findMaker: (scope: Scope, audience: number) =>
      jobs.findOne({
        _id: audience,
        kind: 'audience',
        audience,
        phase: { $ne: 'withdrawn' },
        ...inScope(scope),
      }),

    /** Unfinished jobs, oldest first: what stops the queue stands at the top. Or all, newest first. */
    list: (options: { partner?: string | undefined; all: boolean; limit: number }): Promise<JobDocument[]> =>
      jobs
        .find({
          ...(options.all ? {} : unfinished),
          ...(options.partner === undefined ? {} : { partner: options.partner }),
        })
        .sort({ _id: options.all ? -1 : 1 })
        .limit(options.limit)
        .toArray(),

    /** What the job stands behind: unfinished jobs with a lower number. */
    async earlierThan({ _id, audience }: JobDocument) {
      const before: Filter<JobDocument> = { ...unfinished, _id: { $lt: _id } };
      const [first, count, ofAudience] = await Promise.all([
        jobs.findOne(before, { sort: { _id: 1 }, projection: { _id: 1 } }),
        jobs.countDocuments(before),
        audience === null
          ? null
          : jobs.findOne({ ...before, audience }, { sort: { _id: -1 }, projection: { _id: 1 } }),
      ]);
      return { first: first?._id, count, ofAudience: ofAudience?._id };
    },

    /** Dispatch ends it with `cancelled`, and nothing of it is merged. Null once it is decided what is merged. */
    requestCancel: (id: number) =>
      jobs.findOneAndUpdate(
        { _id: id, phase: { $in: ['accepted', 'loading'] } },
        { $set: { cancelRequested: true, updatedAt: new Date() } },
        { returnDocument: 'after' },
      ),

    withCredentials: () =>
      jobs
        .find({ ...unfinished, credentials: { $type: 'binData' } })
        .project<SealedJob>({ partner: 1, credentials: 1 }),

    /** Unless they were erased or replaced meanwhile. */
    async replaceCredentials({ _id, credentials }: SealedJob, by: Binary): Promise<boolean> {
      const result = await jobs.updateOne({ _id, credentials }, { $set: { credentials: by } });
      return result.modifiedCount === 1;
    },
  };
}
