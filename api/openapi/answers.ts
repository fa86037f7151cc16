/** Answers that many operations share. */
import type { ResponseConfig } from '@asteasolutions/zod-to-openapi';
import { z } from 'zod';
import { problem } from '../../schemas/http.ts';
import { type ProblemCode, problems, problemType } from '../../schemas/problems.ts';

export type Answers = Record<number, ResponseConfig>;

const rateHeaders = {
  RateLimit: { description: 'What is left, and when it is full again', schema: { type: 'string' as const } },
  'RateLimit-Policy': {
    description: 'Requests at once, and over how many seconds',
    schema: { type: 'string' as const },
  },
};
const requestId = {
  'X-Request-Id': { description: 'Names this request in our logs', schema: { type: 'string' as const } },
};
const retryAfter = { 'Retry-After': { description: 'Seconds to wait', schema: { type: 'string' as const } } };
const challenge = { 'WWW-Authenticate': { description: 'Bearer', schema: { type: 'string' as const } } };

const extraHeaders: Partial<
  Record<number, Record<string, { description: string; schema: { type: 'string' } }>>
> = {
  401: challenge,
  429: { ...rateHeaders, ...retryAfter },
  503: retryAfter,
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
        },
      },
    ]);
    answers[status] = {
      description: ofStatus.map((code) => problems[code].title).join('; '),
      headers: { ...requestId, ...extraHeaders[status] },
      content: { 'application/problem+json': { schema: problem, examples: Object.fromEntries(examples) } },
    };
  }
  return answers;
}

export const json = (
  schema: z.ZodType,
  description: string,
  headers = {},
  type = 'application/json',
): ResponseConfig => ({
  description,
  headers: { ...requestId, ...headers },
  content: { [type]: { schema } },
});
export const nothing = (description: string): ResponseConfig => ({ description, headers: requestId });

export const location = {
  Location: { description: 'Where to follow it', schema: { type: 'string' as const } },
};

const always: ProblemCode[] = [
  'bad_request',
  'unauthorized',
  'request_timeout',
  'headers_too_large',
  'rate_limited',
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

export const security = [{ apiKey: [] }];
export const idempotencyKey = z.object({
  'Idempotency-Key': z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/)
    .optional()
    .meta({
      description: 'The same key and body within 24 hours gives the first answer again.',
      example: 'load-2026-06-01',
    }),
});
export const userToken = z.object({
  'x-user-token': z.string().optional().meta({ description: 'Acts for the customer that the token names.' }),
});
export const pathId = (name: string) =>
  z.object({
    [name]: z
      .int()
      .min(1)
      .max(Number.MAX_SAFE_INTEGER)
      .meta({ param: { name, in: 'path' } }),
  });
export const body = (schema: z.ZodType, required = true) => ({
  body: { required, content: { 'application/json': { schema } } },
});
