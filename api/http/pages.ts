/** Lists: `limit`, `cursor` and filters in the query, `Link: rel="next"` in the response. */
import type { z } from 'zod';
import type { Config } from '../../schemas/config.ts';
import type { Context } from './context.ts';
import { validate } from './validate.ts';

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

/** URLs in Location and Link: as partners see the API, possibly through a proxy with another host name. */
export function createPublicAddress({ publicUrl }: Pick<Config, 'publicUrl'>) {
  const base = (publicUrl ?? '').replace(/(?<!\/)\/+$/, '');
  return (path: string) => base + path;
}
