/** Answers that many operations share. */
import type { ResponseConfig } from '@asteasolutions/zod-to-openapi';
import { z } from 'zod';
import { problem } from '../../schemas/http-answers.ts';
import { type FieldError, type ProblemCode, problems, problemType } from '../../schemas/problems.ts';

export type Answers = Record<number, ResponseConfig>;

type Headers = Record<string, { description: string; schema: { type: 'string' } }>;
interface Extras {
  examples?: Record<string, { summary: string; value: unknown }>;
}

const rateHeaders = {
  RateLimit: {
    description: 'Requests left (r), and seconds until the bucket is full again (t)',
    schema: { type: 'string' as const },
  },
  'RateLimit-Policy': {
    description: 'Requests at once (q), and the seconds over which they come back (w)',
    schema: { type: 'string' as const },
  },
};
const requestId = {
  'X-Request-Id': { description: 'Names this request in our logs', schema: { type: 'string' as const } },
};
const retryAfter = { 'Retry-After': { description: 'Seconds to wait', schema: { type: 'string' as const } } };
const challenge = { 'WWW-Authenticate': { description: 'Bearer', schema: { type: 'string' as const } } };

const extraHeaders: Partial<Record<number, Headers>> = {
  401: challenge,
  429: { ...rateHeaders, ...retryAfter },
  503: retryAfter,
};

/** What is said about the fields, where a problem is about fields. */
const fieldErrors: Partial<Record<ProblemCode, FieldError[]>> = {
  invalid_body: [{ path: 'compresed', message: 'is not a known field' }],
  invalid_query: [{ path: 'limit', message: 'must be a number from 1 to 1000' }],
  unknown_keys: [{ path: 'keys.1', message: '18 is not a key of yours' }],
};

/** One answer a status; codes of the same status are examples of it. */
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
      'Of these bytes, for `If-None-Match`; answers of more than 256 KiB that are not paged have none',
    schema: { type: 'string' as const },
  },
};
/** An answer that may be asked for with If-None-Match. */
export const tagged = (answer: ResponseConfig): Answers => ({
  200: { ...answer, headers: { ...(answer.headers as Headers), ...etag } },
  304: nothing('You have it already: `If-None-Match` names its `ETag`', etag),
});
export const ifNoneMatch = z.object({
  'If-None-Match': z.string().optional().meta({
    description: 'The `ETag` of an earlier answer: 304 without a body if nothing has changed.',
  }),
});

export const location = {
  Location: { description: 'Where to follow it', schema: { type: 'string' as const } },
};

const always: ProblemCode[] = [
  'bad_request',
  'unauthorized',
  'request_timeout',
  'headers_too_large',
  'rate_limited',
  'too_many_wrong_keys',
  'invalid_query',
  'internal',
  'unavailable',
];
const withBody: ProblemCode[] = [
  'bad_json',
  'bad_idempotency_key',
  'idempotency_conflict',
  'body_too_large',
  'unsupported_media_type',
  'invalid_body',
  'too_deep',
];
export const readProblems = (...more: ProblemCode[]) => problemAnswers(...always, ...more);
export const writeProblems = (...more: ProblemCode[]) => problemAnswers(...always, ...withBody, ...more);
/** Of operations that queue a job. */
export const queueProblems = (...more: ProblemCode[]) => writeProblems('too_many_pending', ...more);

export const security = [{ apiKey: [] }];
export const idempotencyKey = z.object({
  'Idempotency-Key': z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/)
    .optional()
    .meta({
      description:
        'Of your choice. The same key and request within 24 hours gives the first answer again; with another request 409.',
      example: 'load-2026-06-01',
    }),
});
export const userToken = z.object({
  'x-user-token': z.string().optional().meta({
    description:
      'Optional: the token of one of your customers. Only audiences of that customer are seen, changed and made.',
  }),
});
export const pathId = (name: string) =>
  z.object({
    [name]: z
      .int()
      .min(1)
      .max(Number.MAX_SAFE_INTEGER)
      .meta({ param: { name, in: 'path' }, description: 'As answered when it was made.' }),
  });
export const body = (
  schema: z.ZodType,
  { required = true, examples }: Extras & { required?: boolean } = {},
) => ({
  body: { required, content: { 'application/json': { schema, ...(examples ? { examples } : {}) } } },
});
