/** Group A and its additions. */
import type { OpenAPIRegistry } from '@asteasolutions/zod-to-openapi';
import { z } from 'zod';
import { type Bodies, fileReport, importLog, importLogId, rejectedRow } from '../../schemas/http.ts';
import {
  body,
  idempotencyKey,
  json,
  location,
  pathId,
  readProblems,
  security,
  writeProblems,
} from './answers.ts';

const path = '/v1/marketplace/import';
const one = `${path}/{import_log_id}`;
const shared = { tags: ['Marketplace import'], security };

export function describeImports(registry: OpenAPIRegistry, bodies: Bodies): void {
  registry.registerPath({
    ...shared,
    method: 'get',
    path,
    operationId: 'listImportLogs',
    summary: 'The last 100 import logs, newest first',
    responses: { 200: json(z.array(importLog).max(100), 'Import logs'), ...readProblems() },
  });
  registry.registerPath({
    ...shared,
    method: 'post',
    path,
    operationId: 'queueImport',
    summary: 'Queue the import of a file, or of all files under a prefix',
    request: { headers: idempotencyKey, ...body(bodies.importRequest) },
    responses: { 202: json(importLogId, 'Queued', location), ...writeProblems() },
  });
  registry.registerPath({
    ...shared,
    method: 'delete',
    path,
    operationId: 'deleteAttributeData',
    summary: 'Delete the data of attributes, for good',
    request: { headers: idempotencyKey, ...body(bodies.deleteRequest) },
    responses: { 202: json(importLogId, 'Queued', location), ...writeProblems('unknown_keys') },
  });
  registry.registerPath({
    ...shared,
    method: 'get',
    path: one,
    operationId: 'getImportLog',
    summary: 'One import log',
    request: { params: pathId('import_log_id') },
    responses: { 200: json(importLog, 'The import log'), ...readProblems('not_found') },
  });
  registry.registerPath({
    ...shared,
    method: 'get',
    path: `${one}/files`,
    operationId: 'listImportFiles',
    summary: 'The files of an import, with their rows by outcome',
    request: { params: pathId('import_log_id') },
    responses: { 200: json(z.array(fileReport), 'Files'), ...readProblems('not_found') },
  });
  registry.registerPath({
    ...shared,
    method: 'get',
    path: `${one}/rejects`,
    operationId: 'listImportRejects',
    summary: 'The rejected rows of an import, one JSON object a line',
    request: { params: pathId('import_log_id') },
    responses: {
      200: json(rejectedRow, 'Rejected rows', {}, 'application/x-ndjson'),
      ...readProblems('not_found'),
    },
  });
}
