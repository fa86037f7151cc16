/** Group B and its additions, under both versions. */
import type { OpenAPIRegistry } from '@asteasolutions/zod-to-openapi';
import { z } from 'zod';
import type { Bodies } from '../../schemas/http.ts';
import {
  audience,
  audienceDetails,
  audienceIds,
  audienceLoad,
  audienceLoadDetails,
  fileReport,
  rejectedRow,
} from '../../schemas/http-answers.ts';
import {
  body,
  idempotencyKey,
  ifNoneMatch,
  json,
  location,
  nothing,
  pathId,
  queueProblems,
  readProblems,
  security,
  tagged,
  userToken,
  writeProblems,
} from './answers.ts';
import { appends, audiences, loads } from './examples.ts';

const readHeaders = z.object({ ...userToken.shape, ...ifNoneMatch.shape });
const writeHeaders = z.object({ ...userToken.shape, ...idempotencyKey.shape });
const params = pathId('audience_id');
const listQuery = z.object({
  limit: z.int().min(1).max(1_000).optional().meta({ description: 'At most so many.' }),
  cursor: z
    .string()
    .regex(/^[1-9][0-9]{0,14}$/)
    .optional()
    .meta({ description: 'From the `Link` header of the page before.' }),
});
const link = {
  Link: {
    description: 'The next page, `rel="next"`, where there is more',
    schema: { type: 'string' as const },
  },
};

export function describeAudiences(registry: OpenAPIRegistry, bodies: Bodies): void {
  for (const version of ['v2', 'v1']) describeVersion(registry, bodies, version);
}

function describeVersion(registry: OpenAPIRegistry, bodies: Bodies, version: string): void {
  const path = `/${version}/firstparty/audience`;
  const one = `${path}/{audience_id}`;
  const suffix = version === 'v2' ? '' : 'V1';
  const shared = { tags: [version === 'v2' ? 'Audience ingest' : 'Audience ingest under /v1'], security };

  registry.registerPath({
    ...shared,
    method: 'get',
    path,
    operationId: `listAudiences${suffix}`,
    summary: 'List audiences',
    description: 'Newest first, without their files. All of them, unless `limit` is given.',
    request: { headers: readHeaders, query: listQuery },
    responses: {
      ...tagged(json(z.array(audience), 'Audiences', { headers: link })),
      ...readProblems('bad_user_token'),
    },
  });
  registry.registerPath({
    ...shared,
    method: 'post',
    path,
    operationId: `createAudience${suffix}`,
    summary: 'Create an audience',
    description: 'And queue the load of its files.',
    request: { headers: writeHeaders, ...body(bodies.createAudience, { examples: audiences }) },
    responses: {
      201: json(audienceIds, 'Created', { headers: location }),
      ...queueProblems('bad_user_token'),
    },
  });
  registry.registerPath({
    ...shared,
    method: 'get',
    path: one,
    operationId: `getAudience${suffix}`,
    summary: 'Get audience details',
    description: 'With its files. Ask again until `status` is 2 or 3.',
    request: { headers: readHeaders, params },
    responses: {
      ...tagged(json(audienceDetails, 'The audience')),
      ...readProblems('bad_user_token', 'not_found'),
    },
  });
  registry.registerPath({
    ...shared,
    method: 'patch',
    path: one,
    operationId: `appendFiles${suffix}`,
    summary: 'Append files',
    description:
      'Merged with what is there, each device once. A file that was loaded already, with the same content, is ignored; one that failed or was cancelled is loaded again. `Location` is the load.',
    request: { headers: writeHeaders, params, ...body(bodies.appendFiles, { examples: appends }) },
    responses: { 204: nothing('Queued', location), ...queueProblems('bad_user_token', 'not_found') },
  });
  registry.registerPath({
    ...shared,
    method: 'put',
    path: one,
    operationId: `clearAudience${suffix}`,
    summary: 'Clear an audience',
    description:
      'At once: its devices are gone, files that wait or load are cancelled. What is appended afterwards loads in full.',
    request: { headers: writeHeaders, params, ...body(bodies.nothing, { required: false }) },
    responses: { 204: nothing('Cleared'), ...writeProblems('bad_user_token', 'not_found') },
  });
  registry.registerPath({
    ...shared,
    method: 'get',
    path: `${one}/loads`,
    operationId: `listAudienceLoads${suffix}`,
    summary: 'List the loads of an audience',
    description:
      'The first and every append, newest first, with what each came to and why it failed. 100 of them, unless `limit` is given. Loads from before a clear are among them.',
    request: { headers: readHeaders, params, query: listQuery },
    responses: {
      ...tagged(json(z.array(audienceLoad), 'Loads', { headers: link, examples: loads })),
      ...readProblems('bad_user_token', 'not_found'),
    },
  });
  registry.registerPath({
    ...shared,
    method: 'get',
    path: `${one}/loads/{load_id}`,
    operationId: `getAudienceLoad${suffix}`,
    summary: 'Get a load of an audience',
    description: 'With its files. Ask again until `status` is 2 or 3.',
    request: { headers: readHeaders, params: z.object({ ...params.shape, ...pathId('load_id').shape }) },
    responses: {
      ...tagged(json(audienceLoadDetails, 'The load')),
      ...readProblems('bad_user_token', 'not_found'),
    },
  });
  registry.registerPath({
    ...shared,
    method: 'get',
    path: `${one}/files`,
    operationId: `listAudienceFiles${suffix}`,
    summary: 'List the files of an audience',
    description: 'With the rows of each by outcome, and why a file failed.',
    request: { headers: readHeaders, params },
    responses: {
      ...tagged(json(z.array(fileReport), 'Files')),
      ...readProblems('bad_user_token', 'not_found'),
    },
  });
  registry.registerPath({
    ...shared,
    method: 'get',
    path: `${one}/rejects`,
    operationId: `listAudienceRejects${suffix}`,
    summary: 'List the rejected rows of an audience',
    description: 'One JSON object a line, in the order of loads, files and lines. None after a clear.',
    request: { headers: readHeaders, params },
    responses: {
      ...tagged(json(rejectedRow, 'Rejected rows', { type: 'application/x-ndjson' })),
      ...readProblems('bad_user_token', 'not_found'),
    },
  });
}
