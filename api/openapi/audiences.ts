/** Group B and its additions, under both versions. */
import type { OpenAPIRegistry } from '@asteasolutions/zod-to-openapi';
import { z } from 'zod';
import {
  audience,
  audienceDetails,
  audienceIds,
  type Bodies,
  fileReport,
  rejectedRow,
} from '../../schemas/http.ts';
import {
  body,
  idempotencyKey,
  json,
  location,
  nothing,
  pathId,
  readProblems,
  security,
  userToken,
  writeProblems,
} from './answers.ts';

const writeHeaders = z.object({ ...userToken.shape, ...idempotencyKey.shape });
const params = pathId('audience_id');
const listQuery = z.object({
  limit: z.int().min(1).max(1_000).optional().meta({ description: 'All, unless given.' }),
  cursor: z
    .string()
    .regex(/^[1-9][0-9]{0,14}$/)
    .optional()
    .meta({ description: 'From the Link header of the page before.' }),
});
const link = {
  Link: { description: 'rel="next", where there is more', schema: { type: 'string' as const } },
};

export function describeAudiences(registry: OpenAPIRegistry, bodies: Bodies): void {
  for (const version of ['v2', 'v1']) describeVersion(registry, bodies, version);
}

function describeVersion(registry: OpenAPIRegistry, bodies: Bodies, version: string): void {
  const path = `/${version}/firstparty/audience`;
  const one = `${path}/{audience_id}`;
  const suffix = version === 'v2' ? '' : 'V1';
  const shared = { tags: ['Audience ingest'], security };

  registry.registerPath({
    ...shared,
    method: 'get',
    path,
    operationId: `listAudiences${suffix}`,
    summary: 'Audiences, newest first',
    request: { headers: userToken, query: listQuery },
    responses: {
      200: json(z.array(audience), 'Audiences', link),
      ...readProblems('bad_user_token', 'invalid_query'),
    },
  });
  registry.registerPath({
    ...shared,
    method: 'post',
    path,
    operationId: `createAudience${suffix}`,
    summary: 'Create an audience and queue the load of its files',
    request: { headers: writeHeaders, ...body(bodies.createAudience) },
    responses: { 201: json(audienceIds, 'Created', location), ...writeProblems('bad_user_token') },
  });
  registry.registerPath({
    ...shared,
    method: 'get',
    path: one,
    operationId: `getAudience${suffix}`,
    summary: 'An audience with its files',
    request: { headers: userToken, params },
    responses: {
      200: json(audienceDetails, 'The audience'),
      ...readProblems('bad_user_token', 'not_found'),
    },
  });
  registry.registerPath({
    ...shared,
    method: 'patch',
    path: one,
    operationId: `appendFiles${suffix}`,
    summary: 'Append files to an audience',
    request: { headers: writeHeaders, params, ...body(bodies.appendFiles) },
    responses: { 204: nothing('Queued'), ...writeProblems('bad_user_token', 'not_found') },
  });
  registry.registerPath({
    ...shared,
    method: 'put',
    path: one,
    operationId: `clearAudience${suffix}`,
    summary: 'Clear an audience, at once; what waits or loads is cancelled',
    request: { headers: writeHeaders, params, ...body(bodies.nothing, false) },
    responses: { 204: nothing('Cleared'), ...writeProblems('bad_user_token', 'not_found') },
  });
  registry.registerPath({
    ...shared,
    method: 'get',
    path: `${one}/files`,
    operationId: `listAudienceFiles${suffix}`,
    summary: 'The files of an audience, with their rows by outcome',
    request: { headers: userToken, params },
    responses: { 200: json(z.array(fileReport), 'Files'), ...readProblems('bad_user_token', 'not_found') },
  });
  registry.registerPath({
    ...shared,
    method: 'get',
    path: `${one}/rejects`,
    operationId: `listAudienceRejects${suffix}`,
    summary: 'The rejected rows of an audience, one JSON object a line',
    request: { headers: userToken, params },
    responses: {
      200: json(rejectedRow, 'Rejected rows', {}, 'application/x-ndjson'),
      ...readProblems('bad_user_token', 'not_found'),
    },
  });
}
