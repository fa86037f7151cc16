/** Validates bodies, queries and ids. Reports all errors at once, unknown fields by name. */
import type { z } from 'zod';
import type { FieldError, ProblemCode } from '../../schemas/problems.ts';
import type { Context } from './context.ts';
import { notFound, Problem } from './problem.ts';

const MAX_ERRORS = 100;

/** zod does not distinguish a missing field from one of the wrong type, so this looks at the value. */
const isMissing = (value: unknown, path: PropertyKey[]): boolean =>
  path.length > 0 &&
  path.reduce<unknown>((at, key) => (at as Record<PropertyKey, unknown> | undefined)?.[key], value) ===
    undefined;

export function validate<S extends z.ZodType>(
  schema: S,
  value: unknown,
  code: ProblemCode = 'invalid_body',
): z.output<S> {
  const checked = schema.safeParse(value);
  if (checked.success) return checked.data;
  const errors: FieldError[] = checked.error.issues.flatMap((issue) => {
    const at = issue.path.map(String);
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map((key) => ({ path: [...at, key].join('.'), message: 'is not a known field' }));
    const missing = issue.code !== 'custom' && isMissing(value, issue.path);
    return [{ path: at.join('.'), message: missing ? 'is required' : issue.message }];
  });
  const detail = errors
    .slice(0, 3)
    .map(({ path, message }) => `${path === '' ? 'the body' : path} ${message}`)
    .join('; ');
  throw new Problem(code, `${detail}.`, { errors: errors.slice(0, MAX_ERRORS) });
}

/** All parameters are optional: a request without a query needs no validation. */
export const readQuery = <Q extends z.ZodObject>(ctx: Context, query: Q | undefined): z.output<Q> =>
  query && ctx.querystring !== '' ? validate(query, { ...ctx.query }, 'invalid_query') : ({} as z.output<Q>);

/** Ids in paths. Only the canonical form is accepted: no sign, no leading zero. */
export function parseId(text: string | undefined): number {
  if (text === undefined || !/^[1-9][0-9]{0,15}$/.test(text)) throw notFound();
  const id = Number(text);
  if (!Number.isSafeInteger(id)) throw notFound();
  return id;
}

/** Refuses unknown query parameters by name, so that a misspelled one is not silently ignored. */
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

/** The prefix is the partner's id and a slash (pipeline/stores/partners.ts). */
export function checkPrefixLeftOut(partner: string, filePath: string): void {
  const prefix = `${partner}/`;
  if (!filePath.startsWith(prefix)) return;
  const rest = filePath.slice(prefix.length);
  const message = `must be relative to your prefix: leave out ${prefix}${rest === '' ? '' : ` and send ${rest}`}`;
  throw new Problem('invalid_body', `file_path ${message}.`, { errors: [{ path: 'file_path', message }] });
}
