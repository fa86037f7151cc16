/** Responses, headers and parameters that many operations share. */
import type { ResponseConfig } from '@asteasolutions/zod-to-openapi';
import { z } from 'zod';
import type { KeyScope } from '../../schemas/documents.ts';
import { problem } from '../../schemas/http-answers.ts';
import { type FieldError, type ProblemCode, problems, problemType } from '../../schemas/problems.ts';

export type Answers = Record<number, ResponseConfig>;

type Headers = Record<string, { description: string; schema: { type: 'string' } }>;
interface Extras {
  examples?: Record<string, { summary: string; value: unknown }>;
}

const rateHeaders = {
  RateLimit: {
    description: 'Requests left (r), and seconds until the full quota is available again (t)',
    schema: { type: 'string' as const },
  },
  'RateLimit-Policy': {
    description: 'The quota (q), and the number of seconds in which it refills (w)',
    schema: { type: 'string' as const },
  },
};
const requestId = {
  'X-Request-Id': { description: 'Identifies this request in our logs', schema: { type: 'string' as const } },
};
const retryAfter = { 'Retry-After': { description: 'Seconds to wait', schema: { type: 'string' as const } } };
const challenge = { 'WWW-Authenticate': { description: 'Bearer', schema: { type: 'string' as const } } };

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
export function problemAnswers(...codes: ProblemCode[]): Answers {
  const answers: Answers = {};
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
    answers[status] = {
      description: ofStatus.map((code) => `\`${code}\`: ${problems[code].title}`).join('; '),
      headers: { ...requestId, ...extraHeaders[status] },
      content: { 'application/problem+json': { schema: problem, examples: Object.fromEntries(examples) } },
    };
  }
  return answers;
}

export const json = (
  schema: z.ZodType,
  description: string,
  { headers = {}, type = 'application/json', examples }: Extras & { headers?: Headers; type?: string } = {},
): ResponseConfig => ({
  description,
  headers: { ...requestId, ...headers },
  content: { [type]: { schema, ...(examples ? { examples } : {}) } },
});
export const nothing = (description: string, headers: Headers = {}): ResponseConfig => ({
  description,
  headers: { ...requestId, ...headers },
});

const etag = {
  ETag: {
    description:
      'Identifies this version of the response, for `If-None-Match`. Unpaged responses above 256 KiB have none',
    schema: { type: 'string' as const },
  },
};
/** A response that supports If-None-Match. */
export const tagged = (answer: ResponseConfig): Answers => ({
  200: { ...answer, headers: { ...(answer.headers as Headers), ...etag } },
  304: nothing('Not modified: the `ETag` in `If-None-Match` is still current', etag),
});
export const ifNoneMatch = z.object({
  'If-None-Match': z.string().optional().meta({
    description:
      'The `ETag` of an earlier response. If nothing has changed since, the response is 304 without a body.',
  }),
});

export const location = {
  Location: { description: 'The URL to poll for its status', schema: { type: 'string' as const } },
};

const always: ProblemCode[] = [
  'bad_request',
  'unauthorized',
  'key_expired',
  'insufficient_scope',
  'partner_suspended',
  'request_timeout',
  'headers_too_large',
  'rate_limited',
  'too_many_wrong_keys',
  'invalid_query',
  'internal',
  'unavailable',
];
const changing: ProblemCode[] = ['bad_idempotency_key', 'idempotency_conflict'];
const withBody: ProblemCode[] = [
  'bad_json',
  'body_too_large',
  'unsupported_media_type',
  'invalid_body',
  'too_deep',
];
export const readProblems = (...more: ProblemCode[]) => problemAnswers(...always, ...more);
/** For operations that change something without a body. */
export const changeProblems = (...more: ProblemCode[]) => problemAnswers(...always, ...changing, ...more);
export const writeProblems = (...more: ProblemCode[]) => changeProblems(...withBody, ...more);
/** For operations that queue a job. */
export const queueProblems = (...more: ProblemCode[]) => writeProblems('too_many_pending', ...more);

/** The scopes that an API key needs, all of them. */
export const needs = (...scopes: KeyScope[]) => [{ apiKey: scopes }];
export const security = needs('read');
export const idempotencyKey = z.object({
  'Idempotency-Key': z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/)
    .optional()
    .meta({
      description:
        'Any unique string. The same request with the same key within 24 hours returns the first response again and has no further effect; a different request with the same key gets 409.',
      example: 'load-2026-06-01',
    }),
});
export const userToken = z.object({
  'x-user-token': z.string().optional().meta({
    description:
      'Optional: the token of one of your customers. Restricts the call to the audiences of that customer; an audience created with it belongs to that customer.',
  }),
});
export const pathId = (name: string) =>
  z.object({
    [name]: z
      .int()
      .min(1)
      .max(Number.MAX_SAFE_INTEGER)
      .meta({ param: { name, in: 'path' }, description: 'The id returned at creation.' }),
  });
export const body = (
  schema: z.ZodType,
  { required = true, examples }: Extras & { required?: boolean } = {},
) => ({
  body: { required, content: { 'application/json': { schema, ...(examples ? { examples } : {}) } } },
});

export const rejectsLink = {
  Link: {
    description: 'The URL of the rejected rows, `rel="rejects"`, if there are any',
    schema: { type: 'string' as const },
  },
};
export const link = {
  Link: {
    description: 'The URL of the next page, `rel="next"`; absent on the last page',
    schema: { type: 'string' as const },
  },
};
