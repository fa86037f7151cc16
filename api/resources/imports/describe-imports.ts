/** Marketplace imports. */
import type { OpenAPIRegistry } from '@asteasolutions/zod-to-openapi';
import { z } from 'zod';
import type { Bodies } from '../../../schemas/http.ts';
import { attribute, fileReport, importLog, importLogId, rejectedRow } from '../../../schemas/http-answers.ts';
import { changeAttribute } from '../../../schemas/http-attributes.ts';
import { dryRun, dryRunId } from '../../../schemas/http-dry-runs.ts';
import { dryRunQuery, importQuery, pageQuery } from '../../../schemas/http-queries.ts';
import { deletions, failedImport, importLogs, imports } from '../../describe/examples.ts';
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
  writeProblems,
} from '../../http/responses.ts';

const path = '/v1/marketplace/import';
const one = `${path}/{import_log_id}`;
const shared = { tags: ['Marketplace import'], security };

export function describeImports(registry: OpenAPIRegistry, bodies: Bodies): void {
  registry.registerPath({
    ...shared,
    method: 'get',
    path,
    operationId: 'listImportLogs',
    summary: 'List import logs',
    description:
      'Without parameters, the last 100 imports and deletions, newest first. With any of them, those that match all given filters, in pages of 100 unless `limit` is given.',
    request: { headers: ifNoneMatch, query: importQuery },
    responses: {
      ...tagged(json(z.array(importLog), 'Import logs', { headers: link, examples: importLogs })),
      ...readProblems(),
    },
  });
  registry.registerPath({
    ...shared,
    method: 'post',
    path,
    operationId: 'queueImport',
    security: needs('import'),
    summary: 'Queue an import',
    description:
      'Queues the import of a file, or of all files under a prefix, from the shared bucket or from your own. For many files, one call with a prefix is better than many calls.',
    request: {
      headers: idempotencyKey,
      query: dryRunQuery,
      ...body(bodies.importRequest, { examples: imports }),
    },
    responses: {
      202: json(z.union([importLogId, dryRunId]), 'Queued', { headers: location }),
      ...queueProblems('quota_exceeded'),
    },
  });
  registry.registerPath({
    ...shared,
    method: 'delete',
    path,
    operationId: 'deleteAttributeData',
    security: needs('import'),
    summary: 'Delete attribute data',
    description:
      'Permanent: it cannot be undone. The deletion is queued like an import and runs in the same order: it removes the data of imports accepted before it and none of those accepted after it.',
    request: { headers: idempotencyKey, ...body(bodies.deleteRequest, { examples: deletions }) },
    responses: {
      202: json(importLogId, 'Queued', { headers: location }),
      ...queueProblems('unknown_keys'),
    },
  });
  registry.registerPath({
    ...shared,
    method: 'get',
    path: `${path}/dry-runs/{dry_run_id}`,
    operationId: 'getImportDryRun',
    summary: 'Get a dry run of an import',
    description: 'What would be loaded and rejected. Poll until `status` is 2 or 3. Kept for a day.',
    request: { headers: ifNoneMatch, params: pathId('dry_run_id') },
    responses: { ...tagged(json(dryRun, 'The dry run')), ...readProblems('not_found') },
  });
  registry.registerPath({
    ...shared,
    method: 'get',
    path: one,
    operationId: 'getImportLog',
    summary: 'Get an import log',
    description: 'Poll until `status` is 2 or 3.',
    request: { headers: ifNoneMatch, params: pathId('import_log_id') },
    responses: {
      ...tagged(json(importLog, 'The import log', { examples: failedImport, headers: rejectsLink })),
      ...readProblems('not_found'),
    },
  });
  registry.registerPath({
    ...shared,
    method: 'get',
    path: `${one}/files`,
    operationId: 'listImportFiles',
    summary: 'List the files of an import',
    description:
      'Each file with its row counts, and the reason if it failed. Empty until the job is running.',
    request: { headers: ifNoneMatch, params: pathId('import_log_id') },
    responses: { ...tagged(json(z.array(fileReport), 'Files')), ...readProblems('not_found') },
  });
  registry.registerPath({
    ...shared,
    method: 'get',
    path: `${one}/rejects`,
    operationId: 'listImportRejects',
    summary: 'List the rejected rows of an import',
    description: 'NDJSON: one JSON object per line, ordered by file and line.',
    request: { headers: ifNoneMatch, params: pathId('import_log_id') },
    responses: {
      ...tagged(json(rejectedRow, 'Rejected rows', { type: 'application/x-ndjson' })),
      ...readProblems('not_found'),
    },
  });
  registry.registerPath({
    ...shared,
    method: 'get',
    path: '/v1/marketplace/attribute',
    operationId: 'listAttributes',
    summary: 'List attributes',
    description:
      'Your attributes with their sizes, newest first. All of them, or a page if `limit` is given.',
    request: { headers: ifNoneMatch, query: pageQuery },
    responses: {
      ...tagged(json(z.array(attribute), 'Attributes', { headers: link })),
      ...readProblems(),
    },
  });
  registry.registerPath({
    ...shared,
    security: needs('import'),
    method: 'patch',
    path: '/v1/marketplace/attribute/{attribute_id}',
    operationId: 'changeAttribute',
    summary: 'Change who sees an attribute',
    description:
      'Makes one of your attributes public or private. It takes effect at once, also in reports that were computed before.',
    request: { headers: idempotencyKey, params: pathId('attribute_id'), ...body(changeAttribute) },
    responses: { 204: nothing('Changed'), ...writeProblems('not_found') },
  });
}
