/** First-party audiences, under both versions. */
import type { OpenAPIRegistry } from '@asteasolutions/zod-to-openapi';
import { z } from 'zod';
import type { Bodies } from '../../../schemas/http.ts';
import {
  audience,
  audienceDetails,
  audienceIds,
  audienceLoad,
  audienceLoadDetails,
  fileReport,
  rejectedRowOfLoad,
} from '../../../schemas/http-answers.ts';
import { dryRun, dryRunId } from '../../../schemas/http-dry-runs.ts';
import { audienceQuery, dryRunQuery, pageQuery } from '../../../schemas/http-queries.ts';
import { appends, audiences, loads } from '../../describe/examples.ts';
import {
  body,
  idempotencyKey,
  ifNoneMatch,
  json,
  link,
  location,
  needs,
  nothing,
  pathId,
  queueProblems,
  readProblems,
  rejectsLink,
  security,
  tagged,
  userToken,
  writeProblems,
} from '../../http/responses.ts';

const readHeaders = z.object({ ...userToken.shape, ...ifNoneMatch.shape });
const writeHeaders = z.object({ ...userToken.shape, ...idempotencyKey.shape });
const params = pathId('audience_id');
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
    description:
      'All audiences, or those that match all given filters, newest first, without their files. Use `limit` for pages.',
    request: { headers: readHeaders, query: audienceQuery },
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
    security: needs('audience'),
    summary: 'Create an audience',
    description: 'Creates the audience and queues the load of its files.',
    request: {
      headers: writeHeaders,
      query: dryRunQuery,
      ...body(bodies.createAudience, { examples: audiences }),
    },
    responses: {
      201: json(audienceIds, 'Created', { headers: location }),
      202: json(dryRunId, 'The dry run is queued', { headers: location }),
      ...queueProblems('bad_user_token', 'quota_exceeded'),
    },
  });
  registry.registerPath({
    ...shared,
    method: 'get',
    path: `${path}/dry-runs/{dry_run_id}`,
    operationId: `getAudienceDryRun${suffix}`,
    summary: 'Get a dry run of an audience',
    description: 'What would be loaded and rejected. Poll until `status` is 2 or 3. Kept for a day.',
    request: { headers: readHeaders, params: pathId('dry_run_id') },
    responses: { ...tagged(json(dryRun, 'The dry run')), ...readProblems('bad_user_token', 'not_found') },
  });
  registry.registerPath({
    ...shared,
    method: 'get',
    path: one,
    operationId: `getAudience${suffix}`,
    summary: 'Get audience details',
    description: 'The audience with its files. Poll until `status` is 2 or 3.',
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
    operationId: `changeAudience${suffix}`,
    security: needs('audience'),
    summary: 'Append files, or rename an audience',
    description:
      'With `name`, renames the audience at once. With `file_path`, queues a load that adds the devices of these files to the audience, each device once. Files that were already loaded with the same content are skipped; files that failed or were cancelled are loaded again. `Location` is the URL of the load.',
    request: { headers: writeHeaders, params, ...body(bodies.changeAudience, { examples: appends }) },
    responses: {
      204: nothing('Queued or renamed', location),
      ...queueProblems('bad_user_token', 'not_found', 'quota_exceeded'),
    },
  });
  registry.registerPath({
    ...shared,
    method: 'put',
    path: one,
    operationId: `clearAudience${suffix}`,
    security: needs('audience'),
    summary: 'Clear an audience',
    description:
      'Takes effect immediately: removes all devices and cancels pending and running loads. Files appended afterwards are loaded in full, even if they were loaded before.',
    request: { headers: writeHeaders, params, ...body(bodies.nothing, { required: false }) },
    responses: { 204: nothing('Cleared'), ...writeProblems('bad_user_token', 'not_found') },
  });
  registry.registerPath({
    ...shared,
    method: 'delete',
    path: one,
    operationId: `deleteAudience${suffix}`,
    security: needs('audience'),
    summary: 'Delete an audience',
    description:
      'Permanent, and takes effect immediately: what clearing does, and the audience with its loads, files and report is gone (404). Deleting it again changes nothing.',
    request: { headers: writeHeaders, params, ...body(bodies.nothing, { required: false }) },
    responses: { 204: nothing('Deleted'), ...writeProblems('bad_user_token', 'not_found') },
  });
  registry.registerPath({
    ...shared,
    method: 'get',
    path: `${one}/loads`,
    operationId: `listAudienceLoads${suffix}`,
    summary: 'List the loads of an audience',
    description:
      'The initial load and every append, newest first, each with its status, counts and errors. 100 per page unless `limit` is given. Includes loads from before a clear.',
    request: { headers: readHeaders, params, query: pageQuery },
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
    description: 'The load with its files. Poll until `status` is 2 or 3.',
    request: { headers: readHeaders, params: z.object({ ...params.shape, ...pathId('load_id').shape }) },
    responses: {
      ...tagged(json(audienceLoadDetails, 'The load', { headers: rejectsLink })),
      ...readProblems('bad_user_token', 'not_found'),
    },
  });
  registry.registerPath({
    ...shared,
    method: 'get',
    path: `${one}/files`,
    operationId: `listAudienceFiles${suffix}`,
    summary: 'List the files of an audience',
    description: 'Each file with its row counts, and the reason if it failed.',
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
    description: 'NDJSON: one JSON object per line, ordered by load, file and line. Empty after a clear.',
    request: { headers: readHeaders, params },
    responses: {
      ...tagged(json(rejectedRowOfLoad, 'Rejected rows', { type: 'application/x-ndjson' })),
      ...readProblems('bad_user_token', 'not_found'),
    },
  });
}
