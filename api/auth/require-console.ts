/** Refuses requests that another site makes a browser send: only a script of our own pages can set the header. */
import type { Context } from '../http/context.ts';
import { Problem } from '../http/problem.ts';

export function requireConsole(ctx: Context): void {
  const site = ctx.get('sec-fetch-site');
  if (ctx.get('x-headrace-console') === '1' && (site === '' || site === 'same-origin')) return;
  throw new Problem('forbidden', 'Only the console may send this: it adds the header X-Headrace-Console: 1.');
}
