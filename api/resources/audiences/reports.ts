/** Additions to the specification: the files of a job or an audience in detail, and their rejected rows. */
import type { ListedJob } from '../../../pipeline/stores/job-queries.ts';
import type { Context, Handler } from '../../http/context.ts';
import { notFound } from '../../http/problem.ts';
import { jsonArray, jsonLines, mapEach, sendChunks } from '../../http/stream-json.ts';
import { parseId } from '../../http/validate.ts';
import { filesOfAudience, filesOfJob, toFileReport } from '../../jobs/file-records.ts';
import { rejectedRows } from '../../jobs/reject-records.ts';
import { findImportLog } from '../imports/import-records.ts';
import type { Dependencies } from '../shared.ts';
import type { createFirstpartyAudience } from './audience-operations.ts';

const reports = (files: ReturnType<typeof filesOfJob>) => mapEach(files, toFileReport);

export function createReports(
  deps: Dependencies,
  { audienceOf }: Pick<ReturnType<typeof createFirstpartyAudience>, 'audienceOf'>,
) {
  const { jobs, config } = deps;
  const jobOf = async (ctx: Context) => {
    const job = await findImportLog(deps, ctx.state.scope.partner, parseId(ctx.params.import_log_id));
    if (!job) throw notFound();
    return job;
  };

  async function* rejectsOf(loads: AsyncIterable<ListedJob>) {
    for await (const load of loads)
      for await (const row of rejectedRows(deps, load, config.rejectsPerFile))
        yield { load_id: load._id, ...row };
  }

  const importFiles: Handler = async (ctx) =>
    sendChunks(ctx, 'application/json', jsonArray(reports(filesOfJob(deps, await jobOf(ctx)))));

  const importRejects: Handler = async (ctx) => {
    const rows = rejectedRows(deps, await jobOf(ctx), config.rejectsPerFile);
    await sendChunks(ctx, 'application/x-ndjson', jsonLines(rows));
  };

  const audienceFiles: Handler = async (ctx) => {
    const { _id, generation } = await audienceOf(ctx);
    const files = filesOfAudience(deps, _id, generation);
    await sendChunks(ctx, 'application/json', jsonArray(reports(files)));
  };

  const audienceRejects: Handler = async (ctx) => {
    const { _id, generation } = await audienceOf(ctx);
    const loads = jobs.listedLoads(_id, generation);
    await sendChunks(ctx, 'application/x-ndjson', jsonLines(rejectsOf(loads)));
  };

  return { importFiles, importRejects, audienceFiles, audienceRejects };
}
