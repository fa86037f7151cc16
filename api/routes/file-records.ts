/** Files and rejected rows of a job or an audience. Only files of a job's frozen list are files of the job. */
import type { Db } from 'mongodb';
import {
  collections,
  type FileDocument,
  type JobDocument,
  type JobPhase,
  JobStatus,
  type RejectsDocument,
} from '../../schemas/documents.ts';

export const frozen: JobPhase[] = ['loading', 'sealed', 'ended'];

export type ListedJob = Pick<JobDocument, '_id' | 'phase' | 'listing'>;

const files = (db: Db) => db.collection<FileDocument>(collections.files);

/** The loads of an audience's present generation whose lists are frozen, oldest first. */
export const listedLoads = (db: Db, audience: number, generation: number): Promise<ListedJob[]> =>
  db
    .collection<JobDocument>(collections.jobs)
    .find({ audience, generation, kind: 'audience', phase: { $in: frozen } })
    .sort({ _id: 1 })
    .project<ListedJob>({ phase: 1, listing: 1 })
    .toArray();

/** A file that failed was not loaded: its rows were read, and nothing of them is there. */
const loadedRows = (file: FileDocument) => (file.status === JobStatus.error ? 0 : file.accepted);

export const toFileEntry = (file: FileDocument) => ({
  s3_path: file.path,
  status: file.status,
  rows_uploaded: loadedRows(file),
  updated_at: file.updatedAt,
});

export const toFileReport = (file: FileDocument) => ({
  ...toFileEntry(file),
  rows: file.rows,
  rows_accepted: file.accepted,
  rows_duplicate: file.duplicates,
  rows_rejected: file.rejected,
  failure: file.failure,
});

/** In the order of the job's list. */
export async function* filesOfJob(db: Db, job: ListedJob): AsyncGenerator<FileDocument> {
  if (!frozen.includes(job.phase) || job.listing === undefined) return;
  yield* files(db).find({ job: job._id, listing: job.listing }).sort({ number: 1 });
}

/** In the order of paths, one entry a path: that of the latest load that has it. */
export async function* filesOfAudience(
  db: Db,
  audience: number,
  generation: number,
  loads: ListedJob[],
): AsyncGenerator<FileDocument> {
  const listings = new Set(loads.map(({ listing }) => listing));
  let latest: FileDocument | undefined;
  for await (const file of files(db).find({ audience, generation }).sort({ path: 1 })) {
    if (!listings.has(file.listing)) continue;
    if (latest && latest.path !== file.path) {
      yield latest;
      latest = undefined;
    }
    if (!latest || file.job > latest.job) latest = file;
  }
  if (latest) yield latest;
}

const PAGE = 50;

async function* inPages<T>(items: AsyncIterable<T>): AsyncGenerator<T[]> {
  let page: T[] = [];
  for await (const item of items) {
    page.push(item);
    if (page.length < PAGE) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}

/** Rejected rows in the order of files and lines, at most so many a file. */
export async function* rejectedRows(db: Db, jobs: ListedJob[], perFile: number) {
  const rejects = db.collection<RejectsDocument>(collections.rejects);
  for (const job of jobs) {
    if (!frozen.includes(job.phase) || job.listing === undefined) continue;
    let file = -1;
    let given = 0;
    for await (const page of inPages(rejects.find({ job: job._id }).sort({ file: 1, batch: 1 }))) {
      const ids = [...new Set(page.map((batch) => `${job.listing}.${batch.file}`))];
      const known = await files(db)
        .find({ _id: { $in: ids } })
        .project<Pick<FileDocument, 'number' | 'path'>>({ number: 1, path: 1 })
        .toArray();
      const paths = new Map(known.map(({ number, path }) => [number, path]));
      for (const batch of page) {
        if (batch.file !== file) given = 0;
        file = batch.file;
        const path = paths.get(file);
        if (path === undefined) continue;
        for (const { line, code, raw } of batch.rows.slice(0, perFile - given))
          yield { file: path, line, code, raw };
        given = Math.min(perFile, given + batch.rows.length);
      }
    }
  }
}
