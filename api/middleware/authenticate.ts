/** Who calls: the partner of the API key, and the customer of the user token where one is given. */
import { timingSafeEqual } from 'node:crypto';
import type { Db } from 'mongodb';
import { findApiKey, keyIdOf, keyMatches } from '../../pipeline/stores/api-keys.ts';
import type { ApiKeyDocument } from '../../schemas/documents.ts';
import type { Context, Middleware } from '../context.ts';
import { Problem } from '../problem.ts';
import type { VerifyUserToken } from '../user-tokens.ts';

/** A revoked key is refused everywhere within five seconds: this, and the time of one look. */
const KEPT_MS = 3_000;
const MOST_KEPT = 10_000;

interface KeptKey {
  until: number;
  stored: Promise<ApiKeyDocument | null>;
  /** The whole key, once it was found good: comparing it costs far less than hashing what comes each time. */
  good?: Buffer;
}
export type FindKey = (id: string) => KeptKey;

/** Looks a key up at most once in three seconds, unknown ones included, however many requests bring it. */
export function createKeyLookup(db: Db): FindKey {
  const kept = new Map<string, KeptKey>();
  return (id) => {
    const now = performance.now();
    const known = kept.get(id);
    if (known && now < known.until) return known;
    kept.delete(id);
    if (kept.size >= MOST_KEPT) kept.delete(kept.keys().next().value!);
    const entry: KeptKey = { until: now + KEPT_MS, stored: findApiKey(db, id) };
    kept.set(id, entry);
    entry.stored.catch(() => {
      if (kept.get(id) === entry) kept.delete(id);
    });
    return entry;
  };
}

const refused = (detail: string) =>
  new Problem('unauthorized', detail, { headers: { 'WWW-Authenticate': 'Bearer realm="headrace"' } });

function bearer(ctx: Context): string {
  // Node keeps the first of several Authorization headers in silence; a proxy may have looked at another.
  const { rawHeaders } = ctx.req;
  let times = 0;
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (rawHeaders[i]!.length === 13 && rawHeaders[i]!.toLowerCase() === 'authorization') times++;
  if (times > 1) throw refused('More than one Authorization header was sent.');
  const match = /^Bearer +([^\s]+) *$/i.exec(ctx.req.headers.authorization ?? '');
  if (!match) throw refused('Send your API key as Authorization: Bearer <key>.');
  return match[1]!;
}

const same = (given: Buffer, good: Buffer) => given.length === good.length && timingSafeEqual(given, good);

export function createAuthenticate(secret: Uint8Array, findKey: FindKey): Middleware {
  async function check(key: string): Promise<ApiKeyDocument> {
    const id = keyIdOf(key);
    const entry = id === undefined ? undefined : findKey(id);
    const stored = await entry?.stored;
    if (!entry || !stored || stored.revokedAt !== null)
      throw refused('The API key is unknown or was revoked.');
    const given = Buffer.from(key);
    if (!(entry.good && same(given, entry.good)) && !keyMatches(secret, key, stored))
      throw refused('The API key is unknown or was revoked.');
    entry.good = given;
    return stored;
  }

  return async (ctx, next) => {
    const stored = await check(bearer(ctx));
    ctx.state.keyId = stored._id;
    ctx.state.scope = { partner: stored.partner, customer: null };
    ctx.set('Cache-Control', 'no-store');
    return next();
  };
}

/** For group B: narrows the call to the customer that the token names. */
export function createAuthenticateUser(verify: VerifyUserToken): Middleware {
  return async (ctx, next) => {
    const token = ctx.get('x-user-token');
    if (token !== '') {
      const { partner } = ctx.state.scope;
      ctx.state.scope = { partner, customer: await verify(token, partner) };
    } else if (ctx.req.headers['x-user-token'] !== undefined) {
      throw new Problem('bad_user_token', 'The x-user-token header is empty.', {
        headers: { 'WWW-Authenticate': 'Bearer realm="headrace"' },
      });
    }
    return next();
  };
}
