/** Audiences. What waits or runs is seen from the jobs; an audience holds what its finished loads came to. */
import type { Db } from 'mongodb';
import {
  type AudienceDocument,
  collections,
  type JobDocument,
  type JobError,
  JobStatus,
} from '../../schemas/documents.ts';

const audiences = (db: Db) => db.collection<AudienceDocument>(collections.audiences);

/** The id in the console's deep link. Apart from audience ids, so that one is never taken for the other. */
export const segmentOf = (audience: number): number => 10_000_000 + audience;

/** Makes the audience of the job that creates it, once: API and dispatch both call this, in case the other did not. */
export async function ensureAudience(
  db: Db,
  job: Pick<JobDocument, '_id' | 'kind' | 'audience' | 'partner' | 'customer' | 'audienceName' | 'createdAt'>,
): Promise<void> {
  if (job.kind !== 'audience' || job.audience !== job._id) return;
  await audiences(db).updateOne(
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
}

/** Whose audiences a call may see: the partner's, or those of one of its customers. */
export interface Scope {
  partner: string;
  customer: string | null;
}

export const inScope = ({ partner, customer }: Scope) =>
  customer === null ? { partner } : { partner, customer };

export const findAudience = (db: Db, scope: Scope, id: number): Promise<AudienceDocument | null> =>
  audiences(db).findOne({ _id: id, ...inScope(scope) });

/**
 * Clears the audience if it still is at the given generation: one atomic step that makes all earlier work void.
 * If it is not, somebody has cleared it since the generation was read, which comes to the same.
 */
export async function clearAudience(db: Db, scope: Scope, id: number, generation: number): Promise<boolean> {
  const result = await audiences(db).updateOne(
    { _id: id, generation, ...inScope(scope) },
    {
      $inc: { generation: 1 },
      $set: { uniqueDevices: 0, uploadedDevices: 0, matchedDevices: 0, outcome: 2, updatedAt: new Date() },
      $unset: { failedPaths: '' },
    },
  );
  return result.modifiedCount === 1;
}

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

/**
 * Only while the audience is of the job's generation: a clear in between stays a clear. And only once: a dispatcher that was
 * taken for dead and comes late must not put back what a later load has changed.
 */
export async function recordLoad(
  db: Db,
  { _id, audience, generation, filePath }: JobDocument,
  { errors, someFileFailed, ...counts }: LoadResult,
): Promise<void> {
  const failed = { $ifNull: ['$failedPaths', []] };
  const isFull = { $gte: [{ $size: failed }, MAX_FAILED_PATHS] };
  // A path is any text, and may look like a field.
  const path = { $literal: filePath };
  let failedPaths: object = failed;
  if (failedAsWhole(errors)) failedPaths = { $setUnion: [failed, [{ $cond: [isFull, OTHER_PATHS, path] }]] };
  else if (errors === null) failedPaths = { $setDifference: [failed, [path]] };
  await audiences(db).updateOne(
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
}

/** Of these jobs, those whose audience has been cleared since they were accepted. */
export async function clearedAmong(db: Db, jobs: JobDocument[]): Promise<Set<number>> {
  const loads = jobs.filter(({ audience }) => audience !== null);
  const found = await audiences(db)
    .find({ _id: { $in: loads.map(({ audience }) => audience!) } })
    .project<{ _id: number; generation: number }>({ generation: 1 })
    .toArray();
  const generations = new Map(found.map(({ _id, generation }) => [_id, generation]));
  const isCleared = (job: JobDocument) => (generations.get(job.audience!) ?? 0) > job.generation!;
  return new Set(loads.filter(isCleared).map(({ _id }) => _id));
}
