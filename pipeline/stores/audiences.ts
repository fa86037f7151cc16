/** Audiences. What waits or runs is seen from the jobs; an audience holds what its finished loads came to. */
import type { Db } from 'mongodb';
import {
  type AudienceDocument,
  collections,
  type JobDocument,
  type JobError,
  JobStatus,
} from '../../schemas/documents.ts';

export type AudienceStore = ReturnType<typeof createAudienceStore>;

/** The id in the console's deep link. Apart from audience ids, so that one is never taken for the other. */
export const segmentOf = (audience: number): number => 10_000_000 + audience;

/** Whose audiences a call may see: the partner's, or those of one of its customers. */
export interface Scope {
  partner: string;
  customer: string | null;
}

export const inScope = ({ partner, customer }: Scope) =>
  customer === null ? { partner } : { partner, customer };

/** What a finished load leaves the audience with. */
export interface LoadResult {
  uniqueDevices: number;
  matchedDevices: number;
  uploadedDevices: number;
  /** Whether the newest load of some file failed. */
  someFileFailed: boolean;
  errors: JobError[] | null;
}

/** Beyond this many, a path that no load can have stands for all the others: the audience stays at 3 until it is cleared. */
const MAX_FAILED_PATHS = 1_000;
const OTHER_PATHS = '';

/** More failed files than a job lists are one error without a file, but with their count: the files themselves say that they failed. */
const failedAsWhole = (errors: JobError[] | null) =>
  errors?.some(({ file, count }) => file === undefined && count === undefined) ?? false;

export function createAudienceStore(db: Db) {
  const audiences = db.collection<AudienceDocument>(collections.audiences);

  /** By audience, of those that are there. */
  async function generationsOf(ids: number[]): Promise<Map<number, number>> {
    if (ids.length === 0) return new Map();
    const found = await audiences
      .find({ _id: { $in: ids } })
      .project<{ _id: number; generation: number }>({ generation: 1 })
      .toArray();
    return new Map(found.map(({ _id, generation }) => [_id, generation]));
  }

  return {
    generationsOf,

    /** Makes the audience of the job that creates it, once: API and dispatch both call this, in case the other did not. */
    async ensure(
      job: Pick<
        JobDocument,
        '_id' | 'kind' | 'audience' | 'partner' | 'customer' | 'audienceName' | 'createdAt'
      >,
    ): Promise<void> {
      if (job.kind !== 'audience' || job.audience !== job._id) return;
      await audiences.updateOne(
        { _id: job._id },
        {
          $setOnInsert: {
            partner: job.partner,
            customer: job.customer ?? null,
            name: job.audienceName ?? '',
            segment: segmentOf(job._id),
            generation: 1,
            uniqueDevices: 0,
            uploadedDevices: 0,
            matchedDevices: 0,
            outcome: 2,
            createdAt: job.createdAt,
            updatedAt: job.createdAt,
          },
        },
        { upsert: true },
      );
    },

    find: (scope: Scope, id: number): Promise<AudienceDocument | null> =>
      audiences.findOne({ _id: id, ...inScope(scope) }),

    /** Newest first. */
    list: (scope: Scope, { before, limit = 0 }: { before?: number | undefined; limit?: number }) =>
      audiences
        .find({ ...inScope(scope), ...(before === undefined ? {} : { _id: { $lt: before } }) })
        .sort({ _id: -1 })
        .limit(limit),

    /**
     * Clears the audience if it still is at the given generation: one atomic step that makes all earlier work void.
     * If it is not, somebody has cleared it since the generation was read, which comes to the same.
     */
    async clear(scope: Scope, id: number, generation: number): Promise<boolean> {
      const result = await audiences.updateOne(
        { _id: id, generation, ...inScope(scope) },
        {
          $inc: { generation: 1 },
          $set: {
            uniqueDevices: 0,
            uploadedDevices: 0,
            matchedDevices: 0,
            outcome: 2,
            updatedAt: new Date(),
          },
          $unset: { failedPaths: '' },
        },
      );
      return result.modifiedCount === 1;
    },

    /** Of these jobs, those whose audience has been cleared since they were accepted. */
    async clearedAmong(jobs: JobDocument[]): Promise<Set<number>> {
      const loads = jobs.filter(({ audience }) => audience !== null);
      const generations = await generationsOf(loads.map(({ audience }) => audience!));
      // A lower one, or none, is an old picture of the audience and no clear.
      const isCleared = (job: JobDocument) => (generations.get(job.audience!) ?? 0) > job.generation!;
      return new Set(loads.filter(isCleared).map(({ _id }) => _id));
    },

    /** Audiences with generations that are not swept yet, and those that were swept within the time given. */
    toSweep: (againForMs: number) =>
      audiences.find({
        $expr: {
          $or: [
            { $gt: ['$generation', { $ifNull: ['$sweptBelow', 1] }] },
            { $gt: ['$sweptAt', { $subtract: ['$$NOW', againForMs] }] },
          ],
        },
      }),

    /** Generations below this one have left nothing behind. */
    markSwept: (id: number, below: number) =>
      audiences.updateOne({ _id: id }, [
        { $set: { sweptBelow: { $max: ['$sweptBelow', below] }, sweptAt: '$$NOW' } },
      ]),

    /**
     * Only while the audience is of the job's generation: a clear in between stays a clear. And only once: a dispatcher that was
     * taken for dead and comes late must not put back what a later load has changed.
     */
    async recordLoad(
      { _id, audience, generation, filePath }: JobDocument,
      { errors, someFileFailed, ...counts }: LoadResult,
    ): Promise<void> {
      const failed = { $ifNull: ['$failedPaths', []] };
      const isFull = { $gte: [{ $size: failed }, MAX_FAILED_PATHS] };
      // A path is any text, and may look like a field.
      const path = { $literal: filePath };
      let failedPaths: object = failed;
      if (failedAsWhole(errors))
        failedPaths = { $setUnion: [failed, [{ $cond: [isFull, OTHER_PATHS, path] }]] };
      else if (errors === null) failedPaths = { $setDifference: [failed, [path]] };
      await audiences.updateOne(
        { _id: audience!, generation: generation!, loadedBy: { $not: { $gte: _id } } },
        [
          { $set: { ...counts, failedPaths, loadedBy: _id, updatedAt: new Date() } },
          {
            $set: {
              outcome: someFileFailed
                ? JobStatus.error
                : { $cond: [{ $eq: ['$failedPaths', []] }, JobStatus.done, JobStatus.error] },
            },
          },
        ],
      );
    },
  };
}
