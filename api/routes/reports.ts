/** Additions to the specification: the files of a job or an audience in detail, and the rows that were not accepted. */
import type { Dependencies, Handler } from '../context.ts';
import { parseId } from '../ids.ts';
import { notFound } from '../problem.ts';
import { jsonArray, jsonLines, mapEach, sendChunks } from '../stream-json.ts';
import {
  filesOfAudience,
  filesOfJob,
  type ListedJob,
  listedLoads,
  rejectedRows,
  toFileReport,
} from './file-records.ts';
import type { createFirstpartyAudience } from './firstparty-audience.ts';
import { findImportLog } from './import-records.ts';

const reports = (files: ReturnType<typeof filesOfJob>) => mapEach(files, toFileReport);

export function createReports(
  { db, config }: Dependencies,
  { audienceOf }: Pick<ReturnType<typeof createFirstpartyAudience>, 'audienceOf'>,
) {
  const jobOf = async (ctx: Parameters<Handler>[0]): Promise<ListedJob> => {
    const job = await findImportLog(db, ctx.state.scope.partner, parseId(ctx.params.import_log_id));
    if (!job) throw notFound();
    return job;
  };

  const importFiles: Handler = async (ctx) =>
    sendChunks(ctx, 'application/json', jsonArray(reports(filesOfJob(db, await jobOf(ctx)))));

  const importRejects: Handler = async (ctx) => {
    const rows = rejectedRows(db, [await jobOf(ctx)], config.rejectsPerFile);
    await sendChunks(ctx, 'application/x-ndjson', jsonLines(rows));
  };

  const audienceFiles: Handler = async (ctx) => {
    const { _id, generation } = await audienceOf(ctx);
    const loads = await listedLoads(db, _id, generation);
    const files = filesOfAudience(db, _id, generation, loads);
    await sendChunks(ctx, 'application/json', jsonArray(reports(files)));
  };

  const audienceRejects: Handler = async (ctx) => {
    const { _id, generation } = await audienceOf(ctx);
    const loads = await listedLoads(db, _id, generation);
    await sendChunks(ctx, 'application/x-ndjson', jsonLines(rejectedRows(db, loads, config.rejectsPerFile)));
  };

  return { importFiles, importRejects, audienceFiles, audienceRejects };
}
