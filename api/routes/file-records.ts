/** Files of a job or an audience. Only those of a job's frozen list count. */
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

export const listingOf = ({ phase, listing }: ListedJob) => (frozen.includes(phase) ? listing : undefined);

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
