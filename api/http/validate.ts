/** Validates a value with a zod schema and reports everything that is wrong with it, unknown fields by name. */
import type { z } from 'zod';
import type { FieldError, ProblemCode } from '../../schemas/problems.ts';
import { Problem } from './problem.ts';

const MAX_ERRORS = 100;

/** zod does not tell a missing field from one of the wrong type, so this looks at the value. */
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
