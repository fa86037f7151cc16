/** The frozen list of a job's files, and the decision on each. */
import { createHash } from 'node:crypto';
import type { ClientSession, Db, Filter } from 'mongodb';
import { collections } from '../../schemas/documents.ts';
import { type FileDocument, type FileFailure, JobStatus } from '../../schemas/job-documents.ts';
import { groupCommit } from '../runtime/group-commit.ts';
import { inGroups, within } from '../runtime/in-groups.ts';
import { createAudienceFiles, fileShown, type ShownFile } from './audience-files.ts';
import { insertNew, removeInSteps } from './bulk.ts';
import { READ_AT_ONCE } from './mongo.ts';

export type FileStore = ReturnType<typeof createFileStore>;

export type DecidedFile = Pick<
  FileDocument,
  'rows' | 'accepted' | 'pairsRead' | 'rejected' | 'events' | 'eventsCollapsed' | 'grown'
> & {
  number: number;
  /** If already known. */
  duplicates?: number | null;
  failure: FileFailure | null;
};

type RejectingFile = Pick<FileDocument, 'number' | 'path' | 'rejected'>;

export const fileId = (listing: string, number: number) => `${listing}.${number}`;
/** Files written or examined by one command. */
const WRITE_AT_ONCE = 5_000;

/** Pending or running; or loaded by an earlier attempt, which must be repeated. A failed file stays failed. */
const undecidedIn = (attempt: number): Filter<FileDocument> => ({
  $or: [
    { status: { $in: [JobStatus.pending, JobStatus.running] } },
    ...(attempt > 0
      ? [{ status: JobStatus.done, $or: [{ attempt: { $lt: attempt } }, { attempt: { $exists: false } }] }]
      : []),
  ],
});

export const isUndecided = ({ status, attempt: decidedIn = 0 }: FileDocument, attempt: number): boolean =>
  status === JobStatus.pending ||
  status === JobStatus.running ||
  (status === JobStatus.done && decidedIn < attempt);

export function createFileStore(db: Db) {
  const files = db.collection<FileDocument>(collections.files);
  const stream = (filter: Filter<FileDocument>) => files.find(filter, { batchSize: READ_AT_ONCE });

  /**
   * Ranges of file numbers that cover all listings of the job. A job may have millions of files: a single command would exceed the socket
   * timeout and be retried forever.
   */
  async function* rangesOf(
    job: number,
  ): AsyncGenerator<{ job: number; number: { $gte: number; $lt: number } }> {
    const last = await files.findOne({ job }, { sort: { number: -1 }, projection: { number: 1 } });
    for (let from = 0; last && from <= last.number; from += WRITE_AT_ONCE)
      yield { job, number: { $gte: from, $lt: from + WRITE_AT_ONCE } };
  }

  async function updateAll(listing: string, filter: Filter<FileDocument>, set: Partial<FileDocument>) {
    const update = { $set: { ...set, updatedAt: new Date() } };
    for await (const range of rangesOf(jobOf(listing)))
      await files.updateMany({ ...range, listing, ...filter }, update);
  }

  async function removeAll(job: number, filter: Filter<FileDocument>): Promise<void> {
    for await (const range of rangesOf(job)) await files.deleteMany({ ...range, ...filter });
  }

  return {
    ...createAudienceFiles(files),

    /** Idempotent: existing files are not changed. */
    insertListing: groupCommit(async (listings: FileDocument[][]) => {
      const documents = listings.flat();
      for (const group of inGroups(documents, within({ count: WRITE_AT_ONCE }))) {
        await insertNew(files, group);
      }
    }),

    insertPage: async (documents: FileDocument[], session: ClientSession): Promise<void> => {
      if (documents.length > 0) await files.insertMany(documents, { session, ordered: false });
    },

    undecided: (listing: string, attempt: number, fromNumber: number, limit: number) =>
      files
        .find({ job: jobOf(listing), number: { $gte: fromNumber }, listing, ...undecidedIn(attempt) })
        .sort({ number: 1 })
        .limit(limit)
        .toArray(),

    get: (listing: string, number: number) => files.findOne({ _id: fileId(listing, number) }),

    async markRunning(listing: string, first: number, last: number): Promise<void> {
      await files.updateMany(
        { job: jobOf(listing), number: { $gte: first, $lte: last }, listing, status: JobStatus.pending },
        { $set: { status: JobStatus.running, updatedAt: new Date() } },
      );
    },

    /** The first decision of an attempt stands. */
    async decide(decided: (DecidedFile & { listing: string; attempt: number })[]): Promise<void> {
      if (decided.length === 0) return;
      const updatedAt = new Date();
      await files.bulkWrite(
        decided.map(({ listing, attempt, number, failure, ...counts }) => ({
          updateOne: {
            filter: { _id: fileId(listing, number), ...undecidedIn(attempt) },
            update: {
              $set: {
                ...counts,
                ...(attempt > 0 ? { attempt } : {}),
                failure,
                status: failure ? JobStatus.error : JobStatus.done,
                updatedAt,
              },
            },
          },
        })),
        { ordered: false },
      );
    },

    /** How much of the listing is decided: where a new dispatcher continues. */
    async decidedOf(
      listing: string,
      attempt: number,
    ): Promise<{ files: number; rows: number; bytes: number; grown: number }> {
      const sum = { files: 0, rows: 0, bytes: 0, grown: 0 };
      for await (const range of rangesOf(jobOf(listing))) {
        const [done] = await files
          .aggregate<typeof sum>([
            { $match: { ...range, listing, $nor: [undecidedIn(attempt)] } },
            {
              $group: {
                _id: null,
                files: { $sum: 1 },
                rows: { $sum: '$rows' },
                bytes: { $sum: '$size' },
                grown: { $sum: '$grown' },
              },
            },
          ])
          .toArray();
        sum.files += done?.files ?? 0;
        sum.rows += done?.rows ?? 0;
        sum.bytes += done?.bytes ?? 0;
        sum.grown += done?.grown ?? 0;
      }
      return sum;
    },

    cancelUndecided: (listing: string, failure: FileFailure) =>
      updateAll(
        listing,
        { status: { $in: [JobStatus.pending, JobStatus.running] } },
        { status: JobStatus.error, failure },
      ),

    /** The whole job failed: fails all files that have not failed already. */
    failAll: (listing: string, failure: FileFailure) =>
      updateAll(
        listing,
        { status: { $ne: JobStatus.error } },
        { status: JobStatus.error, failure, duplicates: null },
      ),

    ofListing: (listing: string) =>
      stream({ job: jobOf(listing), listing })
        .sort({ number: 1 })
        .project<ShownFile>(fileShown),

    /** Rows by event of each loaded file, in list order. */
    eventsOf: (listing: string) =>
      stream({ job: jobOf(listing), listing, status: JobStatus.done, events: { $exists: true } })
        .sort({ number: 1 })
        .project<Required<Pick<FileDocument, 'events'>>>({ _id: 0, events: 1 }),

    /** The decided files, in list order. */
    decisionsOf: (listing: string) =>
      stream({ job: jobOf(listing), listing })
        .sort({ number: 1 })
        .project<DecidedFile & { path: string }>({
          _id: 0,
          number: 1,
          path: 1,
          rows: 1,
          accepted: 1,
          pairsRead: 1,
          rejected: 1,
          'events.event': 1,
          eventsCollapsed: 1,
          duplicates: 1,
          failure: 1,
        }),

    /** Path and rejected rows of these files, by file number. */
    async rejectedIn(listing: string, numbers: number[]): Promise<Map<number, RejectingFile>> {
      const found = await files
        .find({ _id: { $in: [...new Set(numbers)].map((number) => fileId(listing, number)) } })
        .project<RejectingFile>({ number: 1, path: 1, rejected: 1 })
        .toArray();
      return new Map(found.map((file) => [file.number, file]));
    },

    async countByStatus(listing: string): Promise<Map<JobStatus, number>> {
      const counts = await files
        .aggregate<{ _id: JobStatus; count: number }>([
          { $match: { job: jobOf(listing), listing } },
          { $group: { _id: '$status', count: { $sum: 1 } } },
        ])
        .toArray();
      return new Map(counts.map(({ _id, count }) => [_id, count]));
    },

    /** Records the duplicates of each file, derived from its distinct pairs. */
    recordDistinctPairs: groupCommit(async (listings: { listing: string; pairs: Map<number, number> }[]) => {
      const operations = listings.flatMap(({ listing, pairs }) =>
        [...pairs].map(([number, distinct]) => ({
          updateOne: {
            filter: { _id: fileId(listing, number) },
            update: [{ $set: { duplicates: { $subtract: ['$pairsRead', distinct] } } }],
          },
        })),
      );
      for (const group of inGroups(operations, within({ count: WRITE_AT_ONCE })))
        await files.bulkWrite(group, { ordered: false });
    }),

    /** Records suppressed devices by file. */
    async recordSuppressed(listing: string, byFile: ReadonlyMap<number, number>): Promise<void> {
      const operations = [...byFile].map(([number, suppressed]) => ({
        updateOne: { filter: { _id: fileId(listing, number) }, update: { $set: { suppressed } } },
      }));
      for (const group of inGroups(operations, within({ count: WRITE_AT_ONCE })))
        await files.bulkWrite(group, { ordered: false });
    },

    removeOf: (jobs: number[], signal: AbortSignal) => removeInSteps(files, { job: { $in: jobs } }, signal),

    /** Removes listings of the job that were never frozen, because their dispatcher died. */
    forgetOthers: (job: number, listing = '') => removeAll(job, { listing: { $ne: listing } }),

    /** Removes a listing that was not frozen, because another dispatcher froze its own first. */
    forgetListing: (listing: string) => removeAll(jobOf(listing), { listing }),
  };
}

/** 128-bit hash of a file's path and ETag. */
export const identityOf = (path: string, etag: string): string =>
  createHash('sha256').update(`${etag} ${path}`).digest('base64url').slice(0, 22);

/** A listing is named `<job>-<unique>`. */
const jobOf = (listing: string) => Number(listing.slice(0, listing.indexOf('-')));
