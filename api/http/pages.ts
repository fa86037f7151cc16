/** Lists: `limit`, `cursor` and filters in the query, `Link: rel="next"` in the response. */
import type { Config } from '../../schemas/config.ts';
import type { Context } from './context.ts';

/** Default page size. */
export const LISTED = 100;

type Query = { limit: number } & Record<string, string | number | undefined>;

/** Cuts `found`, which has one entry more than `limit` if there is a next page, and links that page with the same filters. */
export function cutPage<T>(
  ctx: Context,
  found: T[],
  { limit, ...filters }: Query,
  cursorOf: (last: T) => number,
): T[] {
  const page = found.slice(0, limit);
  if (found.length > limit) setNextPage(ctx, { limit, ...filters, cursor: cursorOf(page.at(-1)!) });
  return page;
}

export function setNextPage(ctx: Context, { limit, cursor, ...filters }: Query): void {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ limit, cursor, ...filters }))
    if (value !== undefined) query.set(name, String(value));
  ctx.set('Link', `<${ctx.state.addressOf(ctx.path)}?${query}>; rel="next"`);
}

export function createPublicAddress({ publicUrl }: Pick<Config, 'publicUrl'>) {
  const base = (publicUrl ?? '').replace(/(?<!\/)\/+$/, '');
  return (path: string) => base + path;
}
