/** Rejected rows of jobs: the rows stored per file, and how many were not stored. */
import { inGroupsAsync, within } from '../../pipeline/runtime/in-groups.ts';
import type { ListedJob } from '../../pipeline/stores/jobs/jobs.ts';
import type { FileDocument, JobDocument } from '../../schemas/job-documents.ts';
import type { RejectsDocument } from '../../schemas/stage-documents.ts';
import type { Context } from '../http/context.ts';
import type { ApiStores } from '../stores/api-stores.ts';
import { listingOf } from './file-records.ts';

const PAGE = 50;

type Row = RejectsDocument['rows'][number];
type Rejecting = Pick<FileDocument, 'path' | 'rejected'>;

const rejectedOf = ({ rejected = {} }: Pick<JobDocument, 'rejected'>) =>
  Object.values(rejected).reduce((sum, count) => sum + count, 0);

/** A job that is done may still have rejected rows. */
export function linkRejects(ctx: Context, job: Pick<JobDocument, 'rejected'>, path: string): void {
  if (rejectedOf(job) > 0) ctx.set('Link', `<${ctx.state.addressOf(path)}>; rel="rejects"`);
}

const toRecord = ({ path }: Rejecting, { line, code, raw, isCut }: Row) => ({
  file: path,
  line,
  code,
  raw,
  ...(isCut ? { truncated: true } : {}),
});
type RejectRecord = ReturnType<typeof toRecord> & { omitted?: number };

/** Ordered by file and line, at most `perFile` per file. The last row of a file says how many were not stored. */
export async function* rejectedRows(
  { files, rejects }: ApiStores,
  job: ListedJob,
  perFile: number,
): AsyncGenerator<RejectRecord> {
  const listing = listingOf(job);
  if (listing === undefined) return;
  let number = -1;
  let given = 0;
  let last: { file: Rejecting; row: Row } | undefined;
  const lastOfFile = function* () {
    if (!last) return;
    const omitted = rejectedOf(last.file) - given;
    yield { ...toRecord(last.file, last.row), ...(omitted > 0 ? { omitted } : {}) };
    last = undefined;
  };
  for await (const page of inGroupsAsync(rejects.ofJob(job._id), within({ count: PAGE }))) {
    const rejecting = await files.rejectedIn(
      listing,
      page.map((batch) => batch.file),
    );
    for (const batch of page) {
      if (batch.file !== number) {
        yield* lastOfFile();
        given = 0;
      }
      number = batch.file;
      const file = rejecting.get(number);
      if (file === undefined) continue;
      for (const row of batch.rows.slice(0, perFile - given)) {
        if (last) yield toRecord(last.file, last.row);
        last = { file, row };
        given++;
      }
    }
  }
  yield* lastOfFile();
}
