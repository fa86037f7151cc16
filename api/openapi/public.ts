/** Operations that need no API key. */
import type { OpenAPIRegistry } from '@asteasolutions/zod-to-openapi';
import { z } from 'zod';
import { json, problemAnswers } from './answers.ts';
import type { Described } from './introduction.ts';

const checks = z.strictObject({ ready: z.boolean(), checks: z.record(z.string(), z.boolean()) });
const schemaVersion = z.strictObject({
  subject: z.string(),
  version: z.int(),
  id: z.int(),
  schema: z.string(),
});

const operations: [path: string, operationId: string, summary: string, schema: z.ZodType, type?: string][] = [
  ['/', 'getIndex', 'Index of the API', z.record(z.string(), z.unknown())],
  ['/openapi.json', 'getOpenApi', 'This document', z.record(z.string(), z.unknown())],
  ['/docs', 'getDocs', 'This document as a web page', z.string(), 'text/html'],
  ['/docs/setup.js', 'getDocsSetup', 'The settings of that page', z.string(), 'text/javascript'],
  ['/docs/reference.js', 'getDocsScript', 'The script of that page', z.string(), 'text/javascript'],
  ['/health/live', 'getLive', 'Liveness: the process is running', z.strictObject({ live: z.boolean() })],
  ['/health/ready', 'getReady', 'Readiness: Kafka and MongoDB respond', checks],
  ['/subjects', 'listSubjects', 'Subjects of the Avro schema registry', z.array(z.string())],
  ['/subjects/{subject}/versions', 'listSchemaVersions', 'Versions of a subject', z.array(z.int())],
  ['/subjects/{subject}/versions/{version}', 'getSchemaVersion', 'A version of a subject', schemaVersion],
  ['/schemas/ids/{id}', 'getSchemaById', 'A schema by its id', z.strictObject({ schema: z.string() })],
];

export function describePublic(registry: OpenAPIRegistry, { topicPrefix }: Described): void {
  const examples: Record<string, string> = {
    subject: `${topicPrefix}.jobs-value`,
    version: 'latest',
    id: '1',
  };
  for (const [path, operationId, summary, schema, type] of operations) {
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
    const params = z.object(
      Object.fromEntries(names.map((name) => [name, z.string().min(1).meta({ example: examples[name] })])),
    );
    registry.registerPath({
      tags: ['Service'],
      security: [],
      method: 'get',
      path,
      operationId,
      summary,
      ...(names.length > 0 ? { request: { params } } : {}),
      responses: {
        200: json(schema, summary, type ? { type } : {}),
        ...problemAnswers(
          'bad_request',
          'request_timeout',
          'headers_too_large',
          'internal',
          'unavailable',
          ...(names.length > 0 ? (['not_found'] as const) : []),
        ),
      },
    });
  }
}
