/** Building blocks of the responses that operations declare. */
import type { ResponseConfig } from '@asteasolutions/zod-to-openapi';
import { z } from 'zod';

export type Responses = Record<number, ResponseConfig>;
export type Examples = Record<string, { summary: string; value: unknown }>;
export type Headers = Record<string, { description: string; schema: { type: 'string' } }>;

/** An example of the examples that the fields declare; fields without one are null, and optional ones are left out. */
export function exampleOf<S extends z.ZodType>(schema: S): z.output<S>;
export function exampleOf(schema: z.ZodType): unknown {
  const { example } = schema.meta() ?? {};
  if (example !== undefined) return example;
  if (schema instanceof z.ZodArray) return [exampleOf(schema.element as z.ZodType)];
  if (!(schema instanceof z.ZodObject)) return null;
  const fields = Object.entries<z.ZodType>(schema.shape);
  return Object.fromEntries(
    fields.flatMap(([name, field]) => (field.isOptional() ? [] : [[name, exampleOf(field)]])),
  );
}

export const example = (summary: string, value: unknown) => ({ summary, value });

const header = (name: string, description: string): Headers => ({
  [name]: { description, schema: { type: 'string' } },
});
export const requestId = header('X-Request-Id', 'Identifies this request in our logs');
export const retryAfter = header('Retry-After', 'Seconds to wait');
export const challenge = header('WWW-Authenticate', 'Bearer');
export const rateHeaders: Headers = {
  ...header('RateLimit', 'Requests left (r), and seconds until the full quota is available again (t)'),
  ...header('RateLimit-Policy', 'The quota (q), and the number of seconds in which it refills (w)'),
};
export const location = header('Location', 'The URL to poll for its status');
export const link = header('Link', 'The URL of the next page, `rel="next"`; absent on the last page');
export const rejectsLink = header('Link', 'The URL of the rejected rows, `rel="rejects"`, if there are any');
const etag = header(
  'ETag',
  'Identifies this version of the response, for `If-None-Match`. Unpaged responses above 256 KiB have none',
);

export const json = (
  schema: z.ZodType,
  description: string,
  {
    headers = {},
    type = 'application/json',
    examples,
  }: { headers?: Headers; type?: string; examples?: Examples } = {},
): ResponseConfig => ({
  description,
  headers: { ...requestId, ...headers },
  content: { [type]: { schema, ...(examples ? { examples } : {}) } },
});
export const nothing = (description: string, headers: Headers = {}): ResponseConfig => ({
  description,
  headers: { ...requestId, ...headers },
});
/** A response that supports If-None-Match. */
export const tagged = (answer: ResponseConfig): Responses => ({
  200: { ...answer, headers: { ...(answer.headers as Headers), ...etag } },
  304: nothing('Not modified: the `ETag` in `If-None-Match` is still current', etag),
});
