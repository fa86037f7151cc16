/** Audiences with the results of their finished loads. Pending and running loads are jobs. */
import type { AnyBulkWriteOperation, ClientSession, Db, Filter, UpdateOneModel } from 'mongodb';
import { type AudienceDocument, collections, spaces } from '../../schemas/documents.ts';
import { EVERYONE, type JobDocument, type JobError, JobStatus } from '../../schemas/job-documents.ts';
import { groupCommit } from '../runtime/group-commit.ts';
import { inGroups, within } from '../runtime/in-groups.ts';

/** The id in the console's deep link. Its range is disjoint from audience ids, so the two cannot be confused. */
export const segmentOf = (audience: number): number => 10_000_000 + audience;

/** The audiences that a call may see: the partner's, or those of one customer. */
export interface Scope {
  partner: string;
  customer: string | null;
}

/** A deleted audience stays as a tombstone, so that its first job does not create it again. */
const notDeleted = { deletedAt: { $exists: false } };

export const inScope = ({ partner, customer }: Scope) =>
  customer === null ? { partner } : { partner, customer };

/** Case-insensitive substring match; the text is escaped. */
export const containing = (text: string) => ({
  $regex: text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'),
  $options: 'i',
});

interface AudienceFilter {
  before?: number | undefined;
  limit?: number | undefined;
  segment?: number | undefined;
  /** Substring of the name, case-insensitive. */
  search?: string | undefined;
  among?: number[] | undefined;
  outcome?: 2 | 3 | undefined;
  maxMs?: number | undefined;
}

/** Devices that a privacy request removed from an audience. */
export interface ErasedFrom {
  audience: number;
  generation: number;
  devices: number;
  matched: number;
}

const WRITE_AT_ONCE = 1_000;

/** The result of a finished load. */
export interface LoadResult {
  /** These are added to the stored counts: new devices, matches among them, accepted rows, failed files. */
  newDevices: number;
  matchedDevices: number;
  uploadedDevices: number;
  failedFiles: number;
  /** Also added. */
  rejected?: AudienceDocument['rejected'];
  errors: JobError[] | null;
}

/** Further failed paths are recorded as OTHER_PATHS, which no load can have: the audience's status stays 3 until it is cleared. */
const MAX_FAILED_PATHS = 1_000;
const OTHER_PATHS = '';

/** An error with a count but no file stands for failed files that the job does not list; the job itself has not failed. */
const failedAsWhole = (errors: JobError[] | null) =>
  errors?.some(({ file, count }) => file === undefined && count === undefined) ?? false;

/** Atomic update that empties an audience and invalidates all earlier work. */
const emptied = () => ({
  $inc: { generation: 1 },
  $set: {
    uniqueDevices: 0,
    uploadedDevices: 0,
    matchedDevices: 0,
    outcome: 2 as const,
    updatedAt: new Date(),
  },
  $unset: {
    failedPaths: '' as const,
    failedFiles: '' as const,
    matchedAt: '' as const,
    matchedBy: '' as const,
    rejected: '' as const,
    sweptAt: '' as const,
  },
  $currentDate: { clearedAt: true as const, lastClearedAt: true as const },
});

export type AudienceStore = ReturnType<typeof createAudienceStore>;

export function createAudienceStore(db: Db) {
  const audiences = db.collection<AudienceDocument>(collections.audiences);

  const update = groupCommit(async (updates: UpdateOneModel<AudienceDocument>[]) => {
    await audiences.bulkWrite(
      updates.map((updateOne) => ({ updateOne })),
      { ordered: false },
    );
  });

  /** Generation by audience, for audiences that exist. */
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

    /** Creates the audience of its first job. Idempotent: API and dispatch both call it, in case the other one died first. */
    async ensure(
      job: Pick<
        JobDocument,
        '_id' | 'kind' | 'audience' | 'partner' | 'customer' | 'audienceName' | 'createdAt'
      >,
    ): Promise<void> {
      if (job.kind !== 'audience' || job.audience !== job._id) return;
      const created = {
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
      } as const;
      await update({ filter: { _id: job._id }, update: { $setOnInsert: created }, upsert: true });
    },

    find: (scope: Scope, id: number): Promise<AudienceDocument | null> =>
      audiences.findOne({ _id: id, ...inScope(scope), ...notDeleted }),

    async isDeleted(scope: Scope, id: number): Promise<boolean> {
      const found = await audiences.findOne({ _id: id, ...inScope(scope), deletedAt: { $exists: true } });
      return found !== null;
    },

    /** Including deleted ones. */
    findAll: (ids: number[], session?: ClientSession): Promise<AudienceDocument[]> =>
      audiences.find({ _id: { $in: ids } }, { session }).toArray(),

    /** Newest first. */
    list: (scope: Scope, { before, limit = 0, segment, search, among, outcome, maxMs }: AudienceFilter) => {
      const conditions: Filter<AudienceDocument>[] = [{ ...inScope(scope), ...notDeleted }];
      if (before !== undefined) conditions.push({ _id: { $lt: before } });
      if (among !== undefined) conditions.push({ _id: { $in: among } });
      if (segment !== undefined) conditions.push({ segment });
      if (outcome !== undefined) conditions.push({ outcome });
      if (search !== undefined) conditions.push({ name: containing(search) });
      return audiences
        .find({ $and: conditions }, maxMs === undefined ? {} : { maxTimeMS: maxMs })
        .sort({ _id: -1 })
        .limit(limit);
    },

    /** The audiences with the most devices, without empty ones. */
    largest: (scope: Scope, limit: number) =>
      audiences
        .find({ ...inScope(scope), uniqueDevices: { $gt: 0 } })
        .sort({ uniqueDevices: -1, _id: 1 })
        .limit(limit)
        .project<Pick<AudienceDocument, '_id' | 'generation' | 'uniqueDevices'>>({
          generation: 1,
          uniqueDevices: 1,
        })
        .toArray(),

    /** Those of the audiences that the call may see. */
    async namesOf(scope: Scope, ids: number[]) {
      const found = await audiences
        .find({ _id: { $in: ids }, ...inScope(scope), ...notDeleted })
        .project<Pick<AudienceDocument, '_id' | 'name' | 'customer' | 'generation'>>({
          name: 1,
          customer: 1,
          generation: 1,
        })
        .toArray();
      return new Map(found.map((audience) => [audience._id, audience]));
    },

    /** Stores a recount of all matches, if the audience has not changed since. */
    recordMatched: ({ _id, generation, loadedBy, erasedBy }: AudienceDocument, matchedDevices: number) => {
      const absent = { $exists: false };
      const same = { loadedBy: loadedBy ?? absent, erasedBy: erasedBy ?? absent };
      return audiences.updateOne({ _id, generation, ...same } as Filter<AudienceDocument>, [
        { $set: { matchedDevices, matchedAt: '$$NOW', matchedBy: 'report' } },
      ]);
    },

    /**
     * Clears the audience if it still has the given generation: one atomic update invalidates all earlier work. If the generation is
     * later, it was cleared meanwhile, which has the same result.
     */
    async clear(scope: Scope, id: number, generation: number): Promise<boolean> {
      const result = await audiences.updateOne({ _id: id, generation, ...inScope(scope) }, emptied());
      return result.modifiedCount === 1;
    },

    rename: (scope: Scope, id: number, name: string) =>
      audiences.updateOne(
        { _id: id, ...inScope(scope), ...notDeleted },
        { $set: { name, updatedAt: new Date() } },
      ),

    /** Deletes permanently: clears the audience and hides it. */
    delete: (scope: Scope, id: number) => {
      const { $set, ...rest } = emptied();
      return audiences.updateOne(
        { _id: id, ...inScope(scope), ...notDeleted },
        { ...rest, $set: { ...$set, name: '', deletedAt: new Date() } },
      );
    },

    /** Those of the jobs whose audience was cleared after they were accepted. */
    async clearedAmong(jobs: JobDocument[]): Promise<Set<number>> {
      const loads = jobs.filter(({ audience }) => audience !== null);
      const generations = await generationsOf(loads.map(({ audience }) => audience!));
      // A lower generation, or none, is a stale read, not a clear.
      const isCleared = (job: JobDocument) => (generations.get(job.audience!) ?? 0) > job.generation!;
      return new Set(loads.filter(isCleared).map(({ _id }) => _id));
    },

    /** Pages of the spaces of a partner's audiences. */
    async *spacesOf(partner: string, atOnce: number): AsyncGenerator<string[]> {
      for (let after = 0; ; ) {
        const page = await audiences
          .find({ partner, ...notDeleted, _id: { $gt: after } })
          .sort({ _id: 1 })
          .limit(atOnce)
          .project<Pick<AudienceDocument, '_id' | 'generation'>>({ generation: 1 })
          .toArray();
        if (page.length === 0) return;
        yield page.map(({ _id, generation }) => spaces.audience(_id, generation));
        after = page.at(-1)!._id;
      }
    },

    /** Those of the spaces that are an audience's, without cleared generations. */
    async currentAmong(among: string[]): Promise<string[]> {
      const ids = among.flatMap((space) => spaces.parse(space)?.audience ?? []);
      const found = await audiences
        .find({ _id: { $in: ids }, ...notDeleted })
        .project<Pick<AudienceDocument, '_id' | 'generation'>>({ generation: 1 })
        .toArray();
      const current = new Set(found.map(({ _id, generation }) => spaces.audience(_id, generation)));
      return among.filter((space) => current.has(space));
    },

    /**
     * What a privacy request has removed, by audience; once, and unless the audience was cleared since. Only sums, so the order of loads
     * and requests does not matter. Matches may fall below 0, shown as 0: a device may match now that did not when it was loaded.
     */
    async recordErasure(
      { _id: job, partner }: Pick<JobDocument, '_id' | 'partner'>,
      removed: Iterable<ErasedFrom>,
    ): Promise<void> {
      const last = `erasedBy.${partner === EVERYONE ? 'everyone' : 'partner'}`;
      const writes = [...removed].map(({ audience, generation, devices, matched }) => ({
        updateOne: {
          filter: { _id: audience, generation, [last]: { $not: { $gte: job } } },
          update: [
            {
              $set: {
                uniqueDevices: { $subtract: ['$uniqueDevices', devices] },
                matchedDevices: { $subtract: ['$matchedDevices', matched] },
                [last]: job,
                updatedAt: new Date(),
              },
            },
          ],
        },
      }));
      for (const group of inGroups(writes, within({ count: WRITE_AT_ONCE })))
        await audiences.bulkWrite(group as AnyBulkWriteOperation<AudienceDocument>[], { ordered: false });
    },

    /** Audiences that may have leftovers from before a clear. */
    toSweep: () => audiences.find({ clearedAt: { $exists: true } }),

    /** Records that earlier generations are swept. Final after `finalAfterMs` without another clear. */
    markSwept: ({ _id, generation }: Pick<AudienceDocument, '_id' | 'generation'>, finalAfterMs: number) => {
      const isFinal = { $lt: ['$sweptAt', { $subtract: ['$$NOW', finalAfterMs] }] };
      const unlessFinal = (field: string) => ({ $cond: [isFinal, '$$REMOVE', field] });
      return audiences.updateOne({ _id, generation }, [
        { $set: { sweptAt: { $ifNull: ['$sweptAt', '$$NOW'] } } },
        { $set: { clearedAt: unlessFinal('$clearedAt'), sweptAt: unlessFinal('$sweptAt') } },
      ]);
    },

    /**
     * Only while the audience has the job's generation, so that a clear in between stands; and only if no later load was recorded, so
     * that a zombie dispatcher does not overwrite newer counts.
     */
    async recordLoad(
      { _id, audience, generation, filePath }: JobDocument,
      { errors, newDevices, rejected = {}, ...added }: LoadResult,
    ): Promise<void> {
      const sum = (count: string, more: number) => ({ $add: [{ $ifNull: [`$${count}`, 0] }, more] });
      const plus = (count: keyof typeof added) => sum(count, added[count]);
      const rejectedSums = Object.entries(rejected).map(([code, rows]) => [
        code,
        sum(`rejected.${code}`, rows),
      ]);
      const nothingFailed = { $and: [{ $eq: ['$failedPaths', []] }, { $lte: ['$failedFiles', 0] }] };
      const failed = { $ifNull: ['$failedPaths', []] };
      const isFull = { $gte: [{ $size: failed }, MAX_FAILED_PATHS] };
      // A literal, because a path may look like a field reference.
      const path = { $literal: filePath };
      let failedPaths: object = failed;
      if (failedAsWhole(errors))
        failedPaths = { $setUnion: [failed, [{ $cond: [isFull, OTHER_PATHS, path] }]] };
      else if (errors === null) failedPaths = { $setDifference: [failed, [path]] };
      await update({
        filter: { _id: audience!, generation: generation!, loadedBy: { $not: { $gte: _id } } },
        update: [
          {
            $set: {
              // Not the slots' current counts: removals by privacy requests are recorded separately.
              uniqueDevices: sum('uniqueDevices', newDevices),
              matchedDevices: plus('matchedDevices'),
              // Only a load with new devices changes the count.
              ...(newDevices > 0 ? { matchedAt: '$$NOW', matchedBy: 'load' } : {}),
              rejected: { $mergeObjects: ['$rejected', Object.fromEntries(rejectedSums)] },
              uploadedDevices: plus('uploadedDevices'),
              failedFiles: plus('failedFiles'),
              failedPaths,
              loadedBy: _id,
              updatedAt: new Date(),
            },
          },
          {
            $set: {
              outcome: { $cond: [nothingFailed, JobStatus.done, JobStatus.error] },
            },
          },
        ],
      });
    },
  };
}
