/** Operations that need no API key. */
import type { OpenAPIRegistry } from '@asteasolutions/zod-to-openapi';
import { z } from 'zod';
import { described } from '../../schemas/http-answers.ts';
import { json, problemAnswers } from '../http/responses.ts';

const checks = z.strictObject({ ready: z.boolean(), checks: z.record(z.string(), z.boolean()) });
const document = z.record(z.string(), z.unknown());
const index = z.looseObject({
  name: z.string(),
  allows_load: described(
    z.boolean(),
    'Whether this is a service for tests, which `headrace load` may fill with generated data.',
    false,
  ),
});

const operations: [path: string, operationId: string, summary: string, schema: z.ZodType, type?: string][] = [
  ['/', 'getIndex', 'Index of the API', index],
  ['/openapi.json', 'getOpenApi', 'This document', document],
  ['/asyncapi.json', 'getAsyncApi', 'The Kafka topics as AsyncAPI 3', document],
  ['/docs', 'getDocs', 'This document as a web page', z.string(), 'text/html'],
  ['/docs/topics', 'getDocsTopics', 'The Kafka topics as a web page', z.string(), 'text/html'],
  ['/docs/setup.js', 'getDocsSetup', 'The settings of that page', z.string(), 'text/javascript'],
  ['/docs/reference.js', 'getDocsScript', 'The script of that page', z.string(), 'text/javascript'],
  ['/health/live', 'getLive', 'Liveness: the process is running', z.strictObject({ live: z.boolean() })],
  ['/health/ready', 'getReady', 'Readiness: Kafka and MongoDB respond', checks],
];

export function describePublic(registry: OpenAPIRegistry): void {
  for (const [path, operationId, summary, schema, type] of operations) {
    registry.registerPath({
      tags: ['Service'],
      security: [],
      method: 'get',
      path,
      operationId,
      summary,
      responses: {
        200: json(schema, summary, type ? { type } : {}),
        ...problemAnswers('bad_request', 'request_timeout', 'headers_too_large', 'internal', 'unavailable'),
      },
    });
  }
}
