/** Additions to the specification: the loads of an audience with their results and progress, its files, its rejected rows. */
import { z } from 'zod';
import {
  audienceLoad,
  audienceLoadDetails,
  fileReport,
  rejectedRowOfLoad,
} from '../../../schemas/http-answers.ts';
import { pageQuery } from '../../../schemas/http-queries.ts';
import { sendJson } from '../../http/change.ts';
import { type Operation, read } from '../../http/operation.ts';
import { cutPage, LISTED } from '../../http/pages.ts';
import { notFound } from '../../http/problem.ts';
import { example, json, link, rejectsLink, tagged } from '../../http/responses.ts';
import { jsonArray, jsonLines, mapEach, sendChunks } from '../../http/stream-json.ts';
import { parseId } from '../../http/validate.ts';
import { filesOfAudience, filesOfJob, toFileReport } from '../../jobs/file-records.ts';
import { createReadProgress, describedProgress, toProgress } from '../../jobs/progress-records.ts';
import { linkRejects, rejectedRows } from '../../jobs/reject-records.ts';
import { audiencePath, type Dependencies, firstparty } from '../shared.ts';
import { audienceOf } from './audience-records.ts';
import { doneLoad, isCancelledByClear, shownOfLoad, toLoad, withoutPaths } from './load-records.ts';

const path = `${audiencePath}/:audience_id/loads`;

const noFiles = {
  ...doneLoad,
  load_id: 58,
  file_path: 'acme/sumer/',
  status: 3,
  files: 0,
  files_done: 0,
  unique_devices: 0,
  total_rows: 0,
  rows_accepted: 0,
  rows_rejected: {},
  new_devices: 0,
  errors: [{ code: 'no_files', message: 'No object matches acme/sumer/.' }],
};

export function loadOperations(deps: Dependencies): Operation[] {
  const { jobs, config } = deps;

  const list = read({
    ...firstparty,
    path,
    operationId: 'listAudienceLoads',
    summary: 'List the loads of an audience',
    description:
      'The initial load and every append, newest first, each with its status, counts and errors. 100 per page unless `limit` is given. Includes loads from before a clear.',
    query: pageQuery,
    isShared: true,
    responses: tagged(
      json(z.array(audienceLoad), 'Loads', {
        headers: link,
        examples: {
          loads: example('A load whose path matched no file, and one that is done', [noFiles, doneLoad]),
        },
      }),
    ),
    async handle(ctx, { limit = LISTED, cursor }) {
      const audience = await audienceOf(deps, ctx);
      const found = await jobs.listLoads(audience, shownOfLoad, { limit: limit + 1, before: cursor });
      const page = cutPage(ctx, found, { limit }, ({ _id }) => _id);
      sendJson(
        ctx,
        page.map((load) => {
          const shown = toLoad(load, audience);
          return ctx.state.onlyAudience === undefined ? shown : withoutPaths(shown);
        }),
      );
    },
  });

  const get = read({
    ...firstparty,
    path: `${path}/:load_id`,
    operationId: 'getAudienceLoad',
    summary: 'Get a load of an audience',
    description: 'The load with its files. Poll until `status` is 2 or 3.',
    responses: tagged(json(audienceLoadDetails, 'The load', { headers: rejectsLink })),
    async handle(ctx) {
      const id = parseId(ctx.params.load_id);
      const audience = await audienceOf(deps, ctx);
      const load = await jobs.findLoad(audience, id, shownOfLoad);
      if (!load) throw notFound();
      linkRejects(ctx, load, ctx.path.replace(/\/loads\/.*/, '/rejects'));
      const head = `${JSON.stringify(toLoad(load, audience)).slice(0, -1)},"file":[`;
      const files = mapEach(filesOfJob(deps, load), toFileReport);
      await sendChunks(ctx, 'application/json', jsonArray(files, head, ']}'));
    },
  });

  const readProgress = createReadProgress({ jobs: deps.jobs, order: deps.config.order });
  const progress = read({
    ...firstparty,
    ...describedProgress,
    path: `${path}/:load_id/progress`,
    operationId: 'getAudienceLoadProgress',
    summary: 'Get the progress of a load',
    async handle(ctx) {
      const id = parseId(ctx.params.load_id);
      const audience = await audienceOf(deps, ctx);
      const { job, jobsAhead } = await readProgress(id, (found) => found.audience === audience._id);
      sendJson(ctx, toProgress(job, { jobsAhead, isCancelled: isCancelledByClear(job, audience) }));
    },
  });

  const files = read({
    ...firstparty,
    path: `${audiencePath}/:audience_id/files`,
    operationId: 'listAudienceFiles',
    summary: 'List the files of an audience',
    description: 'Each file with its row counts, and the reason if it failed.',
    responses: tagged(json(z.array(fileReport), 'Files')),
    async handle(ctx) {
      const { _id, generation } = await audienceOf(deps, ctx);
      const found = filesOfAudience(deps, _id, generation);
      await sendChunks(ctx, 'application/json', jsonArray(mapEach(found, toFileReport)));
    },
  });

  async function* rejectsOf(audience: number, generation: number) {
    for await (const load of jobs.listedLoads(audience, generation))
      for await (const row of rejectedRows(deps, load, config.rejectsPerFile))
        yield { load_id: load._id, ...row };
  }
  const rejects = read({
    ...firstparty,
    path: `${audiencePath}/:audience_id/rejects`,
    operationId: 'listAudienceRejects',
    summary: 'List the rejected rows of an audience',
    description: 'NDJSON: one JSON object per line, ordered by load, file and line. Empty after a clear.',
    responses: tagged(json(rejectedRowOfLoad, 'Rejected rows', { type: 'application/x-ndjson' })),
    async handle(ctx) {
      const { _id, generation } = await audienceOf(deps, ctx);
      await sendChunks(ctx, 'application/x-ndjson', jsonLines(rejectsOf(_id, generation)));
    },
  });

  return [list, get, progress, files, rejects];
}
