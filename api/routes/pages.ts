/** Lists: `limit`, `cursor` and filters in the query, `Link: rel="next"` in the response. */
import { z } from 'zod';
import type { JobStatus } from '../../schemas/documents.ts';
import { deliveryStatuses } from '../../schemas/webhook-documents.ts';
import type { Context } from '../context.ts';
import { validate } from '../validate.ts';

const MAX_LISTED = 1_000;
const MAX_SEARCHED = 256;
const wholeNumber = (max: number, message: string) =>
  z
    .string(message)
    .regex(/^[1-9][0-9]{0,15}$/, message)
    .transform(Number)
    .refine((number) => number <= max, message);
const searched = `must be a text of 1 to ${MAX_SEARCHED} characters, without control characters`;
const search = z
  .string(searched)
  .min(1, searched)
  .max(MAX_SEARCHED, searched)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  .regex(/^[^\u0000-\u001f\u007f]*$/, searched);
const status = z
  .string('must be 0, 1, 2 or 3')
  .regex(/^[0-3]$/, 'must be 0, 1, 2 or 3')
  .transform((text) => Number(text) as JobStatus);

const page = {
  limit: wholeNumber(MAX_LISTED, `must be a number from 1 to ${MAX_LISTED}`).optional(),
  cursor: wholeNumber(Number.MAX_SAFE_INTEGER, 'must be a cursor from a Link header').optional(),
};
/** `false` is what a script may send that has an option for it. */
export const dryRunQuery = z.object({
  dry_run: z
    .enum(['true', 'false'], 'must be true or false')
    .transform((text) => text === 'true')
    .optional(),
});
export const pageQuery = z.object(page);
export const importQuery = z.object({ ...page, status: status.optional(), search: search.optional() });
export const audienceQuery = z.object({
  ...importQuery.shape,
  segment_id: wholeNumber(Number.MAX_SAFE_INTEGER, 'must be a default_warehouse_segment_id').optional(),
});

export const deliveryQuery = z.object({
  ...page,
  status: z.enum(deliveryStatuses, `must be ${deliveryStatuses.join(', ')}`).optional(),
});

export const parametersOf = (query: z.ZodObject) => Object.keys(query.shape);

export const readQuery = <S extends z.ZodType>(ctx: Context, query: S): z.output<S> =>
  validate(query, { ...ctx.query }, 'invalid_query');

/** The same list after the cursor: the filters stay. */
export function nextPage(
  address: string,
  { limit, cursor, ...filters }: Record<string, string | number | undefined>,
): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ limit, cursor, ...filters }))
    if (value !== undefined) query.set(name, String(value));
  return `<${address}?${query}>; rel="next"`;
}
