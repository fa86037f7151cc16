/** Paged lists: `limit` and `cursor` in the query, `Link: rel="next"` in the response. */
import { z } from 'zod';
import type { Context } from '../context.ts';
import { validate } from '../validate.ts';

const MAX_LISTED = 1_000;
const wholeNumber = (max: number, message: string) =>
  z
    .string(message)
    .regex(/^[1-9][0-9]{0,15}$/, message)
    .transform(Number)
    .refine((number) => number <= max, message);
const pageQuery = z.object({
  limit: wholeNumber(MAX_LISTED, `must be a number from 1 to ${MAX_LISTED}`).optional(),
  cursor: wholeNumber(Number.MAX_SAFE_INTEGER, 'must be a cursor from a Link header').optional(),
});
export const pageParameters = Object.keys(pageQuery.shape);

export const readPage = (ctx: Context) => validate(pageQuery, { ...ctx.query }, 'invalid_query');

export const nextPage = (address: string, limit: number, cursor: number): string =>
  `<${address}?limit=${limit}&cursor=${cursor}>; rel="next"`;
