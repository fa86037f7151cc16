/** Authenticates the caller by API key or console session, and the customer by user token if one is sent. */

import type { KeyScope } from '../../schemas/partner-documents.ts';
import { networkOf } from '../http/connections.ts';
import { type Context, countHeader, type Handler } from '../http/context.ts';
import type { Route } from '../http/operation.ts';
import { notFound, Problem, unauthorized } from '../http/problem.ts';
import { type KeyCheck, requireScopes, scopesOf } from './check-key.ts';
import type { KnownTokenKeys } from './known.ts';
import type { Sessions } from './sessions.ts';
import { requireConsole } from './sessions.ts';
import type { VerifyUserToken } from './user-tokens.ts';

function bearer(ctx: Context): string {
  if (countHeader(ctx, 'authorization') > 1)
    throw unauthorized('The request has more than one Authorization header.');
  const match = /^Bearer +([^\s]+) *$/i.exec(ctx.req.headers.authorization ?? '');
  if (!match) throw unauthorized('Send your API key as Authorization: Bearer <key>.');
  return match[1]!;
}

function createAuthenticateKey(keys: KeyCheck, { scopes }: Route): Handler {
  return async (ctx) => {
    const stored = await keys.check(bearer(ctx), networkOf(ctx.ip));
    requireScopes(stored, scopes);
    ctx.state.keyId = stored._id;
    ctx.state.limitedAs = stored._id;
    ctx.state.scope = { partner: stored.partner, customer: null };
    ctx.state.keyScopes = scopesOf(stored);
    if (stored.expiresAt) ctx.state.expiresAt = stored.expiresAt.getTime();
    ctx.state.isStillAllowed = () => keys.isActive(stored._id);
    ctx.set('Cache-Control', 'no-store');
  };
}

/** The scopes of a session without an API key: of a customer, or of a share link. */
const reading: readonly KeyScope[] = ['read'];

/** A share link shows one report and nothing else. */
function limitToShared(ctx: Context, audience: number, { isShared }: Route): void {
  if (!isShared) throw new Problem('forbidden', 'This link shows one report and allows nothing else.');
  const { audience_id = String(audience) } = ctx.params ?? {};
  if (audience_id !== String(audience)) throw notFound();
  ctx.state.onlyAudience = audience;
}

/** A session has the scopes of its API key. Without a key, or with a share link, it only reads. */
function createAuthenticateSession(sessions: Sessions, keys: KeyCheck, route: Route): Handler {
  const { method, access, scopes } = route;
  const changes = scopes.some((scope) => scope !== 'read');
  return async (ctx) => {
    if (method !== 'get') requireConsole(ctx);
    const session = await sessions.of(ctx);
    const { partner, customer, key, audience, expiresAt } = session;
    if (audience !== undefined) limitToShared(ctx, audience, route);
    else if (customer !== null && access !== 'user')
      throw new Problem('forbidden', 'This session is limited to the audiences of one customer.');
    const isShared = audience !== undefined;
    const granted = key === null || isShared ? reading : await keys.scopesOf(key);
    if (granted === reading && changes)
      throw new Problem('forbidden', 'This session only reads. Sign in with an API key to change something.');
    requireScopes({ scopes: granted }, scopes);
    if (key !== null && !isShared) ctx.state.keyId = key;
    ctx.state.keyScopes = granted;
    // One limit for all sessions of a key, a customer or a link: signing in again must not raise it.
    const one = isShared ? `share ${audience}` : (key ?? JSON.stringify([partner, customer]));
    ctx.state.limitedAs = `session ${one}`;
    ctx.state.scope = { partner, customer };
    ctx.state.expiresAt = expiresAt;
    ctx.state.isStillAllowed = () => sessions.isOpen(session);
    ctx.set('Cache-Control', 'no-store');
  };
}

/** An Authorization header always wins over the cookie. */
export function createAuthenticate(keys: KeyCheck, sessions: Sessions): (route: Route) => Handler {
  return (route) => {
    const byKey = createAuthenticateKey(keys, route);
    const bySession = createAuthenticateSession(sessions, keys, route);
    return (ctx) =>
      ctx.req.headers.authorization === undefined && sessions.has(ctx) ? bySession(ctx) : byKey(ctx);
  };
}

/** Audience routes: narrows the scope of the request to the customer that the token names. */
export function createAuthenticateUser(
  verify: VerifyUserToken,
  tokenKeys: Pick<KnownTokenKeys, 'isActive'>,
): Handler {
  return async (ctx) => {
    const token = ctx.get('x-user-token');
    if (token !== '') {
      const { scope, isStillAllowed } = ctx.state;
      const { partner, customer, expiresAt, tokenKey } = await verify(token, scope.partner);
      ctx.state.scope = { partner, customer };
      ctx.state.expiresAt = Math.min(expiresAt, ctx.state.expiresAt ?? expiresAt);
      if (tokenKey !== null)
        ctx.state.isStillAllowed = async () => (await isStillAllowed()) && tokenKeys.isActive(tokenKey);
    } else if (ctx.req.headers['x-user-token'] !== undefined) {
      throw new Problem('bad_user_token', 'The x-user-token header is empty.', {
        headers: { 'WWW-Authenticate': 'Bearer realm="headrace"' },
      });
    }
  };
}
