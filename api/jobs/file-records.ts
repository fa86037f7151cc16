/** Files of a job or an audience. Only those of a job's frozen list count. */
import { inGroupsAsync, within } from '../../pipeline/runtime/in-groups.ts';
import type { ShownEntry, ShownFile } from '../../pipeline/stores/audience-files.ts';
import { frozen, type ListedJob } from '../../pipeline/stores/jobs/jobs.ts';
import { JobStatus } from '../../schemas/job-documents.ts';
import type { ApiStores } from '../stores/api-stores.ts';

/** Looked up by file, because an audience may have any number of loads. */
const FILES_AT_ONCE = 1_000;

/** A file that failed was read but not loaded. */
const loadedRows = (file: ShownEntry) => (file.status === JobStatus.error ? 0 : file.accepted);

export const toFileEntry = (file: ShownEntry) => ({
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
  suppressed: file.duplicates === null ? null : (file.suppressed ?? 0),
  failure: file.failure,
});

export const listingOf = ({ phase, listing }: ListedJob) => (frozen.includes(phase) ? listing : undefined);

/** In the order of the job's list. */
export async function* filesOfJob({ files }: ApiStores, job: ListedJob): AsyncGenerator<ShownFile> {
  const listing = listingOf(job);
  if (listing !== undefined) yield* files.ofListing(listing);
}

/** Of these files, those that belong to the frozen list of their job. */
async function listed<T extends ShownEntry>({ jobs }: ApiStores, some: T[]): Promise<T[]> {
  const loads = await jobs.findAll([...new Set(some.map(({ job }) => job))], { phase: 1, listing: 1 });
  const listings = new Set(loads.map(listingOf));
  return some.filter(({ listing }) => listings.has(listing));
}

/** Ordered by path; one entry for each path, from the latest load that includes it. */
async function* latestOfEachPath<T extends ShownEntry>(
  stores: ApiStores,
  all: AsyncIterable<T>,
): AsyncGenerator<T> {
  let latest: T | undefined;
  for await (const some of inGroupsAsync(all, within({ count: FILES_AT_ONCE }))) {
    for (const file of await listed(stores, some)) {
      if (latest && latest.path !== file.path) {
        yield latest;
        latest = undefined;
      }
      if (!latest || file.job > latest.job) latest = file;
    }
  }
  if (latest) yield latest;
}

export const filesOfAudience = (stores: ApiStores, audience: number, generation: number) =>
  latestOfEachPath(stores, stores.files.ofAudience(audience, generation));
export const entriesOfAudience = (stores: ApiStores, audience: number, generation: number) =>
  latestOfEachPath(stores, stores.files.entriesOfAudience(audience, generation));
