/** The composition report of an audience, under both versions. */
import type { OpenAPIRegistry } from '@asteasolutions/zod-to-openapi';
import { z } from 'zod';
import { composition, compositionProgress, overlapRow } from '../../../schemas/http-composition.ts';
import { compositionQuery, pageQuery } from '../../../schemas/http-queries.ts';
import { compositions } from '../../describe/examples.ts';
import {
  changeProblems,
  idempotencyKey,
  ifNoneMatch,
  json,
  link,
  pathId,
  readProblems,
  security,
  tagged,
  userToken,
} from '../../http/responses.ts';

const params = pathId('audience_id');
const computing = json(compositionProgress, 'The report is being computed: ask again', {
  headers: { 'Retry-After': { description: 'Seconds to wait', schema: { type: 'string' } } },
});

export function describeComposition(registry: OpenAPIRegistry): void {
  for (const version of ['v2', 'v1']) describeVersion(registry, version);
}

function describeVersion(registry: OpenAPIRegistry, version: string): void {
  const suffix = version === 'v2' ? '' : 'V1';
  const shared = {
    tags: [version === 'v2' ? 'Audience ingest' : 'Audience ingest under /v1'],
    security,
    path: `/${version}/firstparty/audience/{audience_id}/composition`,
  };
  const report = json(composition, 'The report', { examples: compositions });
  const csv = { 'text/csv': { schema: z.string() } };
  registry.registerPath({
    ...shared,
    method: 'get',
    operationId: `getComposition${suffix}`,
    summary: 'Get the composition of an audience',
    description:
      'Which marketplace attributes the devices of the audience have and to whom they belong, its events, and what it has in common with your other audiences. Exact. Attributes that are private to another partner are left out, and for a customer those that are private to you. A report is computed when you ask for it and something has changed since the last one: the response is then 202 with the progress; ask again until it is 200. On a busy service a report may be overtaken while it is computed; it is then given for ten seconds, with `current: false`.',
    request: {
      headers: z.object({ ...userToken.shape, ...ifNoneMatch.shape }),
      params,
      query: compositionQuery,
    },
    responses: {
      ...tagged({ ...report, content: { ...report.content, ...csv } }),
      202: computing,
      ...readProblems('bad_user_token', 'not_found', 'too_many_pending'),
    },
  });
  registry.registerPath({
    ...shared,
    method: 'get',
    path: `${shared.path}/overlaps`,
    operationId: `listOverlaps${suffix}`,
    summary: 'List the overlaps of an audience',
    description:
      'All overlaps of the report, most devices first, in pages of 100 unless `limit` is given. An audience is compared with up to 1,000 others, the largest of them; for an audience of a customer, those of the same customer come first. Like the report, it is computed first if something has changed.',
    request: {
      headers: z.object({ ...userToken.shape, ...ifNoneMatch.shape }),
      params,
      query: pageQuery,
    },
    responses: {
      ...tagged(json(z.array(overlapRow), 'Overlaps', { headers: link })),
      202: computing,
      ...readProblems('bad_user_token', 'not_found', 'too_many_pending'),
    },
  });
  registry.registerPath({
    ...shared,
    method: 'post',
    operationId: `computeComposition${suffix}`,
    summary: 'Compute the composition anew',
    description:
      'Computes the report even if the last one is current, unless it is being computed already. Takes no body.',
    request: { headers: z.object({ ...userToken.shape, ...idempotencyKey.shape }), params },
    responses: { 202: computing, ...changeProblems('bad_user_token', 'not_found', 'too_many_pending') },
  });
}
