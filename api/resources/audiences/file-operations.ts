/** Additions to the specification: the files of an audience in detail, and their rejected rows. */
import { z } from 'zod';
import { fileReport, rejectedRowOfLoad } from '../../../schemas/http-answers.ts';
import { type Operation, read } from '../../http/operation.ts';
import { json, tagged } from '../../http/responses.ts';
import { jsonArray, jsonLines, mapEach, sendChunks } from '../../http/stream-json.ts';
import { filesOfAudience, toFileReport } from '../../jobs/file-records.ts';
import { rejectedRows } from '../../jobs/reject-records.ts';
import { audiencePath, type Dependencies, firstparty } from '../shared.ts';
import { audienceOf } from './audience-records.ts';

export function fileOperations(deps: Dependencies): Operation[] {
  const { jobs, config } = deps;

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

  return [files, rejects];
}
