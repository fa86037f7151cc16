/** Refuses unknown query parameters by name, so that a misspelled one is not silently ignored. */
import type { Context } from './context.ts';
import { Problem } from './problem.ts';

export function checkQuery(ctx: Context, known: readonly string[]): void {
  if (ctx.querystring === '') return;
  const given = new Set(new URLSearchParams(ctx.querystring).keys());
  const unknown = [...given].filter((name) => !known.includes(name));
  if (unknown.length === 0) return;
  const shown = unknown.slice(0, 20);
  throw new Problem('invalid_query', `Unknown query parameters: ${shown.join(', ')}.`, {
    errors: shown.map((path) => ({ path, message: 'is not a known parameter' })),
  });
}
