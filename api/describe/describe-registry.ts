/** The schema registry: what any client of a Schema Registry calls. */
import type { OpenAPIRegistry } from '@asteasolutions/zod-to-openapi';
import { z } from 'zod';
import {
  invalidVersion,
  REGISTRY_TYPE,
  RegistryProblem,
  schemaNotFound,
  subjectNotFound,
  versionNotFound,
} from '../http/registry-problem.ts';
import { type Answers, json } from '../http/responses.ts';
import type { Described } from './introduction.ts';

const level = z.strictObject({ compatibilityLevel: z.string() });
const mode = z.strictObject({ mode: z.string() });
const place = z.strictObject({ subject: z.string(), version: z.int() });
const version = place.extend({ id: z.int(), schema: z.string() });
const byId = z.strictObject({ schema: z.string(), maxId: z.int().optional() });
const avro = z.record(z.string(), z.unknown());

const operations: [path: string, operationId: string, summary: string, schema: z.ZodType][] = [
  ['/subjects', 'listSubjects', 'List subjects', z.array(z.string())],
  ['/subjects/{subject}/versions', 'listSchemaVersions', 'List versions of a subject', z.array(z.int())],
  ['/subjects/{subject}/versions/{version}', 'getSchemaVersion', 'Get a version of a subject', version],
  ['/subjects/{subject}/versions/{version}/schema', 'getVersionSchema', 'Get only its schema', avro],
  [
    '/subjects/{subject}/versions/{version}/referencedby',
    'listReferences',
    'List schemas that refer to it: none',
    z.array(z.int()),
  ],
  ['/schemas/ids/{id}', 'getSchemaById', 'Get a schema by its id', byId],
  ['/schemas/ids/{id}/schema', 'getSchemaTextById', 'Get only the schema', avro],
  ['/schemas/ids/{id}/subjects', 'listSubjectsOfSchema', 'List subjects of a schema', z.array(z.string())],
  ['/schemas/ids/{id}/versions', 'listVersionsOfSchema', 'List versions of a schema', z.array(place)],
  ['/schemas/types', 'listSchemaTypes', 'List types of schemas', z.array(z.string())],
  ['/config', 'getCompatibility', 'Get the compatibility level', level],
  ['/config/{subject}', 'getSubjectCompatibility', 'Get the compatibility of a subject', level],
  ['/mode', 'getMode', 'Get the mode', mode],
  ['/mode/{subject}', 'getSubjectMode', 'Get the mode of a subject', mode],
];

const errors = [
  subjectNotFound('x'),
  versionNotFound(9),
  schemaNotFound('99'),
  invalidVersion('first'),
  new RegistryProblem(50001, 'Internal error'),
  new RegistryProblem(50301, 'A backend did not respond in time. Retry shortly.'),
];
/** Which of them an operation gives, by the parameters in its path. */
const causes: Record<number, string | undefined> = {
  40401: 'subject',
  40402: 'version',
  40403: 'id',
  42202: 'version',
};

function errorAnswers(parameters: string[]): Answers {
  const possible = errors.filter(({ errorCode }) => {
    const cause = causes[errorCode];
    return cause === undefined || parameters.includes(cause);
  });
  const statuses = [...new Set(possible.map(({ status }) => status))];
  return Object.fromEntries(
    statuses.map((status) => {
      const some = possible.filter((each) => each.status === status);
      const examples = some.map(({ errorCode, message }): [string, { summary: string; value: object }] => [
        String(errorCode),
        { summary: message, value: { error_code: errorCode, message } },
      ]);
      const schema = z.strictObject({ error_code: z.int(), message: z.string() });
      const description = some.map(({ errorCode }) => `\`${errorCode}\``).join(', ');
      return [
        status,
        json(schema, description, { type: REGISTRY_TYPE, examples: Object.fromEntries(examples) }),
      ];
    }),
  );
}

export function describeRegistry(registry: OpenAPIRegistry, { topicPrefix }: Described): void {
  const examples: Record<string, string> = {
    subject: `${topicPrefix}.jobs-value`,
    version: 'latest',
    id: '1',
  };
  for (const [path, operationId, summary, schema] of operations) {
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
    const params = z.object(
      Object.fromEntries(names.map((name) => [name, z.string().min(1).meta({ example: examples[name] })])),
    );
    registry.registerPath({
      tags: ['Schema registry'],
      security: [],
      method: 'get',
      path,
      operationId,
      summary,
      ...(names.length > 0 ? { request: { params } } : {}),
      responses: { 200: json(schema, summary, { type: REGISTRY_TYPE }), ...errorAnswers(names) },
    });
  }
}
