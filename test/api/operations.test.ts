/** What holds for every operation: it needs a key with its scopes, and refuses parameters that it does not know. */
import { expect, it } from 'vitest';
import type { Operation } from '../../api/http/operation.ts';
import { createApiKeyStore } from '../../api/stores/api-keys.ts';
import type { KeyScope } from '../../schemas/partner-documents.ts';
import { operations } from './operations.ts';
import { type Call, createCaller } from './support.ts';
import { useApi, usePartner } from './use-api.ts';

const api = useApi();
const partner = usePartner(api);

const protectedOperations = operations.filter(({ access }) => access !== 'public');
/** Uses unknown ids and an invalid body, so that nothing changes. */
const send = (call: Call, { method, path, body }: Operation, { query = '', as = method as string } = {}) =>
  call(as.toUpperCase(), path.replace(/:\w+/g, '987654321') + query, body ? { body: {} } : {});

/** By path and method, independently of the declarations. */
function scopesFor({ path, method }: Operation): KeyScope[] {
  if (path === '/v1/account') return [];
  // A webhook receives what a GET of any audience returns, so it needs the read scope, too.
  if (path.startsWith('/v1/webhooks')) return ['read', 'webhook'];
  if (path.startsWith('/v1/privacy')) return ['privacy'];
  if (method === 'get' || path.includes('/composition')) return ['read'];
  return [path.includes('/marketplace/') ? 'import' : 'audience'];
}

it('without a key: 401 with WWW-Authenticate: Bearer, and nothing else is said', async () => {
  for (const operation of protectedOperations) {
    const reply = await send(api.anonymous, operation, { query: '?limt=2' });
    expect([operation.path, reply.status, reply.json.code]).toEqual([operation.path, 401, 'unauthorized']);
    expect(reply.headers.get('www-authenticate')).toMatch(/^Bearer/);
    expect(reply.headers.get('content-type')).toBe('application/problem+json');
  }
});

it('with query parameters that it does not know: 422, naming them', async () => {
  for (const operation of protectedOperations) {
    const { status, json } = await send(partner.call, operation, { query: '?limt=2&__proto__=1' });
    expect([operation.path, status, json.code]).toEqual([operation.path, 422, 'invalid_query']);
    expect(json.errors.map((error: { path: string }) => error.path)).toEqual(['limt', '__proto__']);
  }
});

it.each([undefined, 'read', 'import', 'audience', 'webhook', 'privacy', 'read,webhook'])(
  'a key for %s does that alone; a key without scopes does everything',
  async (given) => {
    const scopes = given?.split(',') as KeyScope[] | undefined;
    const { key } = await createApiKeyStore(api.db).create(api.config.secret, partner.id, 'k', { scopes });
    for (const operation of protectedOperations) {
      const { path, method } = operation;
      const needed = scopesFor(operation);
      const isAllowed = !scopes || needed.every((scope) => scopes.includes(scope));
      // HEAD: an event stream would not end.
      const as = method === 'get' ? 'head' : method;
      const { status, headers } = await send(createCaller(api.service.apiUrl, key), operation, { as });
      expect([method, path, status === 403]).toEqual([method, path, !isAllowed]);
      if (!isAllowed) expect(headers.get('www-authenticate')).toContain(`scope="${needed.join(' ')}"`);
    }
  },
);
