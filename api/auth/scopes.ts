/** What an API key may do. */
import type { ApiKeyDocument, KeyScope } from '../../schemas/documents.ts';
import { Problem } from '../http/problem.ts';
import type { Route } from '../resources/operations.ts';

/** The scopes that an API key needs, all of them. */
export function scopesOf({
  method,
  access,
  scopes,
}: Pick<Route, 'method' | 'access' | 'scopes'>): readonly KeyScope[] {
  if (scopes) return scopes;
  if (method === 'get') return ['read'];
  return [access === 'user' ? 'audience' : 'import'];
}

export function requireScopes({ scopes }: Pick<ApiKeyDocument, 'scopes'>, needed: readonly KeyScope[]): void {
  if (!scopes || needed.every((scope) => scopes.includes(scope))) return;
  const names = `scope${needed.length > 1 ? 's' : ''} ${needed.join(' and ')}`;
  throw new Problem(
    'insufficient_scope',
    `This needs an API key with the ${names}; yours has ${scopes.join(', ')}.`,
    {
      headers: {
        'WWW-Authenticate': `Bearer realm="headrace", error="insufficient_scope", scope="${needed.join(' ')}"`,
      },
    },
  );
}
