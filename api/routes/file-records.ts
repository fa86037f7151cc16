/** Files and rejected rows of a job or an audience. Only the files of a job's frozen list count. */
import type { ShownFile } from '../../pipeline/stores/files.ts';
import { frozen, type ListedJob } from '../../pipeline/stores/job-queries.ts';
import { JobStatus } from '../../schemas/documents.ts';
import type { ApiStores } from '../stores.ts';

/** A file that failed was read but not loaded. */
const loadedRows = (file: ShownFile) => (file.status === JobStatus.error ? 0 : file.accepted);

export const toFileEntry = (file: ShownFile) => ({
  s3_path: file.path,
  status: file.status,
  rows_uploaded: loadedRows(file),
  updated_at: file.updatedAt,
});

export const toFileReport = (file: ShownFile) => ({
  ...toFileEntry(file),
  rows: file.rows,
  rows_accepted: file.accepted,
  rows_duplicate: file.duplicates,
  rows_rejected: file.rejected,
  failure: file.failure,
});

const listingOf = ({ phase, listing }: ListedJob) => (frozen.includes(phase) ? listing : undefined);

/** In the order of the job's list. */
export async function* filesOfJob({ files }: ApiStores, job: ListedJob): AsyncGenerator<ShownFile> {
  const listing = listingOf(job);
  if (listing !== undefined) yield* files.ofListing(listing);
}

/** Ordered by path; one entry for each path, from the latest load that includes it. */
export async function* filesOfAudience(
  { files, jobs }: ApiStores,
  audience: number,
  generation: number,
): AsyncGenerator<ShownFile> {
  const loads = await jobs.listedLoads(audience, generation);
  const listings = new Set(loads.map(({ listing }) => listing));
  let latest: ShownFile | undefined;
  for await (const file of files.ofAudience(audience, generation)) {
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

/** Rejected rows ordered by file and line, at most `perFile` for each file. */
export async function* rejectedRows({ files, rejects }: ApiStores, jobs: ListedJob[], perFile: number) {
  for (const job of jobs) {
    const listing = listingOf(job);
    if (listing === undefined) continue;
    let file = -1;
    let given = 0;
    for await (const page of inPages(rejects.ofJob(job._id))) {
      const paths = await files.pathsOf(
        listing,
        page.map((batch) => batch.file),
      );
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
