/** Group A and its additions. */
import type { OpenAPIRegistry } from '@asteasolutions/zod-to-openapi';
import { z } from 'zod';
import type { Bodies } from '../../schemas/http.ts';
import { fileReport, importLog, importLogId, rejectedRow } from '../../schemas/http-answers.ts';
import {
  body,
  idempotencyKey,
  ifNoneMatch,
  json,
  location,
  pathId,
  queueProblems,
  readProblems,
  security,
  tagged,
} from './answers.ts';
import { deletions, failedImport, importLogs, imports } from './examples.ts';

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
    description: 'The last 100 jobs, imports and deletions, newest first.',
    request: { headers: ifNoneMatch },
    responses: {
      ...tagged(json(z.array(importLog).max(100), 'Import logs', { examples: importLogs })),
      ...readProblems(),
    },
  });
  registry.registerPath({
    ...shared,
    method: 'post',
    path,
    operationId: 'queueImport',
    summary: 'Queue an import',
    description:
      'Of a file, or of all files under a prefix, from the shared bucket or from a bucket of your own. Prefer a prefix to many calls.',
    request: { headers: idempotencyKey, ...body(bodies.importRequest, { examples: imports }) },
    responses: { 202: json(importLogId, 'Queued', { headers: location }), ...queueProblems() },
  });
  registry.registerPath({
    ...shared,
    method: 'delete',
    path,
    operationId: 'deleteAttributeData',
    summary: 'Delete attribute data',
    description:
      'For good: it cannot be undone. The deletion is a job in the order of the others: it removes what earlier imports brought and nothing of what later ones bring.',
    request: { headers: idempotencyKey, ...body(bodies.deleteRequest, { examples: deletions }) },
    responses: {
      202: json(importLogId, 'Queued', { headers: location }),
      ...queueProblems('unknown_keys'),
    },
  });
  registry.registerPath({
    ...shared,
    method: 'get',
    path: one,
    operationId: 'getImportLog',
    summary: 'Get an import log',
    description: 'Ask again until `status` is 2 or 3.',
    request: { headers: ifNoneMatch, params: pathId('import_log_id') },
    responses: {
      ...tagged(json(importLog, 'The import log', { examples: failedImport })),
      ...readProblems('not_found'),
    },
  });
  registry.registerPath({
    ...shared,
    method: 'get',
    path: `${one}/files`,
    operationId: 'listImportFiles',
    summary: 'List the files of an import',
    description: 'With the rows of each by outcome, and why a file failed. Empty until the job runs.',
    request: { headers: ifNoneMatch, params: pathId('import_log_id') },
    responses: { ...tagged(json(z.array(fileReport), 'Files')), ...readProblems('not_found') },
  });
  registry.registerPath({
    ...shared,
    method: 'get',
    path: `${one}/rejects`,
    operationId: 'listImportRejects',
    summary: 'List the rejected rows of an import',
    description: 'One JSON object a line, in the order of files and lines.',
    request: { headers: ifNoneMatch, params: pathId('import_log_id') },
    responses: {
      ...tagged(json(rejectedRow, 'Rejected rows', { type: 'application/x-ndjson' })),
      ...readProblems('not_found'),
    },
  });
}
