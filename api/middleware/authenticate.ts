/** Authenticates the caller: the partner by API key, and the customer by user token where one is sent. */
import { timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { secretsOf } from '../../pipeline/runtime/seal.ts';
import { type ApiKeyStore, keyIdOf } from '../../pipeline/stores/api-keys.ts';
import type { Config } from '../../schemas/config.ts';
import type { ApiKeyDocument } from '../../schemas/documents.ts';
import { networkOf } from '../client-network.ts';
import type { Context, Handler } from '../context.ts';
import { Problem } from '../problem.ts';
import type { VerifyUserToken } from '../user-tokens.ts';
import { createTokenBuckets, secondsUntil } from './limit-rate.ts';

/** A revoked key is refused everywhere within five seconds: this, and the time of one lookup. */
const KEPT_MS = 3_000;
const MAX_KEPT = 10_000;

interface KeptKey {
  until: number;
  stored: Promise<ApiKeyDocument | null>;
  /** The whole key, once it was verified: comparing it costs far less than hashing every request's key. */
  good?: Buffer;
}
interface KeyLookup {
  /** The cached entry of the id, even if it has expired. */
  known(id: string): KeptKey | undefined;
  /** Looks a key up at most once every three seconds, unknown keys included, however many requests send it. */
  find(id: string): KeptKey;
}

const isFresh = (entry: KeptKey | undefined) => entry !== undefined && performance.now() < entry.until;

function createKeyLookup(apiKeys: ApiKeyStore): KeyLookup {
  const kept = new LRUCache<string, KeptKey>({ max: MAX_KEPT });
  return {
    known: (id) => kept.get(id),
    find(id) {
      const known = kept.get(id);
      if (known && isFresh(known)) return known;
      const entry: KeptKey = { until: performance.now() + KEPT_MS, stored: apiKeys.find(id) };
      if (known?.good) entry.good = known.good;
      kept.set(id, entry);
      entry.stored.catch(() => {
        if (kept.peek(id) === entry) kept.delete(id);
      });
      return entry;
    },
  };
}

const refused = (detail: string) =>
  new Problem('unauthorized', detail, { headers: { 'WWW-Authenticate': 'Bearer realm="headrace"' } });

function bearer(ctx: Context): string {
  // Node silently keeps the first of several Authorization headers; a proxy may have checked another.
  const { rawHeaders } = ctx.req;
  let times = 0;
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (rawHeaders[i]!.length === 13 && rawHeaders[i]!.toLowerCase() === 'authorization') times++;
  if (times > 1) throw refused('The request has more than one Authorization header.');
  const match = /^Bearer +([^\s]+) *$/i.exec(ctx.req.headers.authorization ?? '');
  if (!match) throw refused('Send your API key as Authorization: Bearer <key>.');
  return match[1]!;
}

const same = (given: Buffer, good: Buffer) => given.length === good.length && timingSafeEqual(given, good);

/**
 * An invalid key costs its address a token, and an address without tokens is refused before any lookup. A key that was verified
 * before is let through: clients that share an address with a guesser (behind a proxy, say) keep working.
 */
export function createAuthenticate(
  config: Pick<Config, 'wrongKeysPerMinute' | 'secret' | 'secretOld'>,
  apiKeys: ApiKeyStore,
): Handler {
  const secrets = secretsOf(config);
  const keys = createKeyLookup(apiKeys);
  const perSecond = config.wrongKeysPerMinute / 60;
  const guesses = createTokenBuckets(perSecond, config.wrongKeysPerMinute);

  async function isGood(key: Buffer, entry: KeptKey): Promise<ApiKeyDocument | undefined> {
    const stored = await entry.stored;
    if (!stored || stored.revokedAt !== null) return undefined;
    const good = (entry.good && same(key, entry.good)) || apiKeys.isKey(key.toString(), stored, secrets);
    if (!good) return undefined;
    entry.good = key;
    return stored;
  }

  async function check(text: string, network: string): Promise<ApiKeyDocument> {
    const key = Buffer.from(text);
    const id = keyIdOf(text);
    const known = id === undefined ? undefined : keys.known(id);
    const trusted = known?.good !== undefined && same(key, known.good);
    // A lookup takes its token in advance, so that concurrent requests cannot exceed the limit.
    const taken = !trusted && !isFresh(known);
    const left = trusted ? 0 : taken ? guesses.take(network) : guesses.look(network);
    if (left < 0)
      throw new Problem(
        'too_many_wrong_keys',
        'Too many requests with an invalid API key came from your address.',
        {
          headers: { 'Retry-After': secondsUntil(left, perSecond) },
        },
      );
    try {
      const stored = id === undefined ? undefined : await isGood(key, keys.find(id));
      if (stored && taken) guesses.giveBack(network);
      if (stored) return stored;
    } catch (error) {
      if (taken) guesses.giveBack(network);
      throw error;
    }
    if (!taken) guesses.take(network);
    throw refused('The API key is unknown or has been revoked.');
  }

  return async (ctx) => {
    const stored = await check(bearer(ctx), networkOf(ctx.ip));
    ctx.state.keyId = stored._id;
    ctx.state.scope = { partner: stored.partner, customer: null };
    ctx.set('Cache-Control', 'no-store');
  };
}

/** Audience routes: narrows the scope of the request to the customer that the token names. */
export function createAuthenticateUser(verify: VerifyUserToken): Handler {
  return async (ctx) => {
    const token = ctx.get('x-user-token');
    if (token !== '') {
      const { partner } = ctx.state.scope;
      ctx.state.scope = { partner, customer: await verify(token, partner) };
    } else if (ctx.req.headers['x-user-token'] !== undefined) {
      throw new Problem('bad_user_token', 'The x-user-token header is empty.', {
        headers: { 'WWW-Authenticate': 'Bearer realm="headrace"' },
      });
    }
  };
}
