/** The list of audiences, whole or in pages, filtered by shown fields. */
import { z } from 'zod';
import { segmentOf } from '../../../pipeline/stores/audiences.ts';
import type { AudienceDocument } from '../../../schemas/documents.ts';
import { audience } from '../../../schemas/http-answers.ts';
import { audienceQuery } from '../../../schemas/http-queries.ts';
import { JobStatus } from '../../../schemas/job-documents.ts';
import { sendJson } from '../../http/change.ts';
import { type Operation, read } from '../../http/operation.ts';
import { cutPage } from '../../http/pages.ts';
import { json, link, tagged } from '../../http/responses.ts';
import { jsonArray, sendChunks } from '../../http/stream-json.ts';
import { audiencePath, type Dependencies, firstparty } from '../shared.ts';
import { type OpenLoads, readOpenLoads, toAudience } from './audience-records.ts';

/** Preselects audiences that may have the status; their record decides. */
function storedWith(status: JobStatus | undefined, open: OpenLoads) {
  if (status === JobStatus.pending || status === JobStatus.running) return { among: open.audiences() };
  return { outcome: status };
}

async function* recordsOf(
  found: AsyncIterable<AudienceDocument>,
  toRecord: (audience: AudienceDocument) => ReturnType<typeof toAudience>,
  status: JobStatus | undefined,
) {
  for await (const audience of found) {
    const record = toRecord(audience);
    if (status === undefined || record.status === status) yield record;
  }
}

async function firstOf<T>(items: AsyncGenerator<T>, count: number): Promise<T[]> {
  const first: T[] = [];
  for await (const item of items) {
    first.push(item);
    if (first.length === count) break;
  }
  return first;
}

export function listAudiences(deps: Dependencies): Operation {
  const { audiences, config } = deps;

  return read({
    ...firstparty,
    path: audiencePath,
    operationId: 'listAudiences',
    summary: 'List audiences',
    description:
      'All audiences, or those that match all given filters, newest first, without their files. Use `limit` for pages.',
    query: audienceQuery,
    isShared: true,
    responses: tagged(json(z.array(audience), 'Audiences', { headers: link })),
    async handle(ctx, query) {
      const { limit, cursor: before, segment_id: segment, search, status } = query;
      const open = await readOpenLoads(deps, ctx.state.scope.partner);
      const found = audiences.list(ctx.state.scope, {
        before,
        segment: ctx.state.onlyAudience === undefined ? segment : segmentOf(ctx.state.onlyAudience),
        search,
        ...storedWith(status, open),
        ...(limit !== undefined && status === undefined ? { limit: limit + 1 } : {}),
        ...(search === undefined ? {} : { maxMs: config.limitBackendMs }),
      });
      const records = recordsOf(found, (one) => toAudience(one, open, config.privacyFloor), status);
      if (limit === undefined) return sendChunks(ctx, 'application/json', jsonArray(records));
      const some = await firstOf(records, limit + 1);
      const page = cutPage(ctx, some, { ...query, limit }, (last) => last.audience_id);
      sendJson(ctx, page);
    },
  });
}
