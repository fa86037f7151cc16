/** The OpenAPI 3.1 document, generated from the operations and from the schemas that validate requests. */
import { OpenAPIRegistry, OpenApiGeneratorV31, type RouteConfig } from '@asteasolutions/zod-to-openapi';
import { z } from 'zod';
import { problem } from '../../schemas/http-answers.ts';
import { type FieldError, type ProblemCode, problems, problemType } from '../../schemas/problems.ts';
import type { Operation } from '../http/operation.ts';
import {
  challenge,
  type Headers,
  type Responses,
  rateHeaders,
  requestId,
  retryAfter,
} from '../http/responses.ts';
import { introduction } from './introduction.ts';
import type { Described } from './introduction-limits.ts';

/** The problems implied by the kind of operation. */
const ofAll: ProblemCode[] = [
  'bad_request',
  'request_timeout',
  'headers_too_large',
  'internal',
  'unavailable',
];
const authenticated: ProblemCode[] = [
  'unauthorized',
  'key_expired',
  'insufficient_scope',
  'partner_suspended',
  'rate_limited',
  'too_many_wrong_keys',
  'invalid_query',
];
const changing: ProblemCode[] = ['bad_idempotency_key', 'idempotency_conflict'];
const withBody: ProblemCode[] = [
  'bad_json',
  'body_too_large',
  'unsupported_media_type',
  'invalid_body',
  'too_deep',
];

const problemsOf = (operation: Operation): ProblemCode[] => [
  ...ofAll,
  ...(operation.access === 'public' ? [] : authenticated),
  ...('prepare' in operation ? changing : []),
  ...(operation.body ? withBody : []),
  ...(operation.access === 'user' ? (['bad_user_token'] as const) : []),
  ...(operation.path.includes(':') ? (['not_found'] as const) : []),
  ...(operation.problems ?? []),
];

const extraHeaders: Partial<Record<number, Headers>> = {
  401: challenge,
  429: { ...rateHeaders, ...retryAfter },
  503: retryAfter,
};

/** Example field errors for the codes that have them. */
const fieldErrors: Partial<Record<ProblemCode, FieldError[]>> = {
  invalid_body: [{ path: 'compresed', message: 'is not a known field' }],
  invalid_query: [{ path: 'limit', message: 'must be a number from 1 to 1000' }],
  unknown_keys: [{ path: 'keys.1', message: '18 is not one of your keys' }],
};

/** One response for each status; codes of the same status become its examples. */
function problemResponses(codes: ProblemCode[]): Responses {
  const responses: Responses = {};
  for (const status of new Set(codes.map((code) => problems[code].status))) {
    const ofStatus = codes.filter((code) => problems[code].status === status);
    const examples = ofStatus.map((code) => [
      code,
      {
        value: {
          type: problemType(code),
          title: problems[code].title,
          status,
          detail: problems[code].title,
          code,
          instance: '6dd61142-6baa-4d0a-8187-60d6126a0fe8',
          ...(fieldErrors[code] ? { errors: fieldErrors[code] } : {}),
        },
      },
    ]);
    responses[status] = {
      description: ofStatus.map((code) => `\`${code}\`: ${problems[code].title}`).join('; '),
      headers: { ...requestId, ...extraHeaders[status] },
      content: { 'application/problem+json': { schema: problem, examples: Object.fromEntries(examples) } },
    };
  }
  return responses;
}

const ifNoneMatch = {
  'If-None-Match': z.string().optional().meta({
    description:
      'The `ETag` of an earlier response. If nothing has changed since, the response is 304 without a body.',
  }),
};
const idempotencyKey = {
  'Idempotency-Key': z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/)
    .optional()
    .meta({
      description:
        'Any unique string. The same request with the same key within 24 hours returns the first response again and has no further effect; a different request with the same key gets 409.',
      example: 'load-2026-06-01',
    }),
};
const userToken = {
  'x-user-token': z.string().optional().meta({
    description:
      'Optional: the token of one of your customers. Restricts the call to the audiences of that customer; an audience created with it belongs to that customer.',
  }),
};
const headersOf = (operation: Operation) =>
  z.object({
    ...(operation.access === 'user' ? userToken : {}),
    ...(304 in operation.responses ? ifNoneMatch : {}),
    ...('prepare' in operation ? idempotencyKey : {}),
    ...operation.headers?.shape,
  });

const pathId = (name: string) =>
  z
    .int()
    .min(1)
    .max(Number.MAX_SAFE_INTEGER)
    .meta({ param: { name, in: 'path' }, description: 'The id returned at creation.' });
export const parametersIn = (path: string): string[] =>
  [...path.matchAll(/:(\w+)/g)].map(([, name]) => name!);

function routeConfig(operation: Operation): RouteConfig {
  const { method, path, access, scopes, query, body, params, responses, errors } = operation;
  const { operationId, tag, summary, description } = operation;
  const ids = parametersIn(path);
  return {
    tags: [tag],
    security: access === 'public' ? [] : [{ apiKey: [...scopes] }],
    method,
    path: path.replace(/:(\w+)/g, '{$1}'),
    operationId,
    summary,
    ...(description ? { description } : {}),
    request: {
      headers: headersOf(operation),
      ...(ids.length > 0
        ? { params: params ?? z.object(Object.fromEntries(ids.map((name) => [name, pathId(name)]))) }
        : {}),
      ...(query ? { query } : {}),
      ...(body ? { body: bodyConfig(body) } : {}),
    },
    responses: { ...responses, ...(errors ?? problemResponses(problemsOf(operation))) },
  };
}

export const bodyConfig = ({ schema, examples, optional }: NonNullable<Operation['body']>) => ({
  required: !optional,
  content: { 'application/json': { schema, ...(examples ? { examples } : {}) } },
});

/** `sent`: the requests that the service sends to webhooks. */
export function createOpenApi(
  config: Described,
  operations: readonly Operation[],
  sent: readonly RouteConfig[],
) {
  const registry = new OpenAPIRegistry();
  registry.registerComponent('securitySchemes', 'apiKey', {
    type: 'http',
    scheme: 'bearer',
    description: 'The API key that was issued to you: `Authorization: Bearer <API_KEY>`.',
  });
  for (const operation of operations) registry.registerPath(routeConfig(operation));
  for (const event of sent) registry.registerWebhook(event);
  return new OpenApiGeneratorV31(registry.definitions).generateDocument({
    openapi: '3.1.0',
    info: { title: 'headrace', version: '1.0.0', description: introduction(config) },
    servers: [{ url: config.publicUrl ?? '/' }],
    tags: [
      {
        name: 'Marketplace import',
        description: 'Marketplace attributes: queue an import, poll its status, delete attribute data.',
      },
      {
        name: 'Audience ingest',
        description:
          'First-party audiences: create one from files, append files, clear it. Every call accepts an `x-user-token`.',
      },
      {
        name: 'Audience ingest under /v1',
        description:
          'The same audiences under the older path. Every operation is identical to the one under `/v2`.',
      },
      {
        name: 'Webhooks',
        description: 'Signed POST requests to your URL when a job ends, with a log of all deliveries.',
      },
      {
        name: 'Account',
        description: 'Who the API key belongs to, its scopes, and the quotas and usage of the partner.',
      },
      {
        name: 'Service',
        description: 'Health, this documentation and the command line. No API key needed.',
      },
      {
        name: 'Schema registry',
        description:
          'The Avro schemas of the Kafka topics, as a read-only Schema Registry: give any client of one the base URL of this API. No API key needed; query parameters that are not known are ignored. Errors have the form of that API, `error_code` and `message`; writes give 422 with `error_code` 42205. [The topics](/docs/topics) have a page of their own.',
      },
    ],
  });
}
