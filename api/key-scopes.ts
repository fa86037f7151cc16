/** What an API key may do. */
import type { ApiKeyDocument, KeyScope } from '../schemas/documents.ts';
import { Problem } from './problem.ts';
import type { Route } from './routes/table.ts';

/** What only computes a report reads, although it is no GET: a session of the console may call it too. */
export const scopeOf = ({
  method,
  session,
  access,
}: Pick<Route, 'method' | 'session' | 'access'>): KeyScope => {
  if (method === 'get' || session) return 'read';
  return access === 'user' ? 'audience' : 'import';
};

export function requireScope({ scopes }: Pick<ApiKeyDocument, 'scopes'>, needed: KeyScope): void {
  if (!scopes || scopes.includes(needed)) return;
  throw new Problem(
    'insufficient_scope',
    `This needs an API key with the scope ${needed}; yours has ${scopes.join(', ')}.`,
    {
      headers: {
        'WWW-Authenticate': `Bearer realm="headrace", error="insufficient_scope", scope="${needed}"`,
      },
    },
  );
}
