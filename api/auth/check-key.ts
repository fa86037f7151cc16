/** Verifies API keys, mostly from a cache. */
import { timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { secretsOf } from '../../pipeline/runtime/seal.ts';
import type { Config } from '../../schemas/config.ts';
import { type ApiKeyDocument, type KeyScope, keyScopes } from '../../schemas/partner-documents.ts';
import { Problem, unauthorized } from '../http/problem.ts';
import { type ApiKeyStore, isActiveKey, keyIdOf } from '../stores/api-keys.ts';
import type { KnownPartners } from './known.ts';
import type { GuessLimit } from './limit-guesses.ts';

/** With one lookup, less than the five seconds within which every process refuses a revoked key. */
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
  /** Looks up a key at most once every three seconds, unknown keys included. */
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

const same = (given: Buffer, good: Buffer) => given.length === good.length && timingSafeEqual(given, good);

const expired = ({ expiresAt }: ApiKeyDocument) =>
  new Problem('key_expired', `The API key expired at ${expiresAt!.toISOString()}.`, {
    headers: { 'WWW-Authenticate': 'Bearer realm="headrace", error="invalid_token"' },
  });

export interface KeyCheck {
  /** Returns the stored key. Refuses a key that is unknown, revoked or expired, or of a suspended partner. */
  check(key: string, network: string): Promise<ApiKeyDocument>;
  /** Whether a key that was verified earlier is still valid. */
  isActive(id: string): Promise<boolean>;
  /** The scopes of a key that was verified earlier. */
  scopesOf(id: string): Promise<readonly KeyScope[]>;
}

/**
 * An invalid key costs its address a token, and an address without tokens is refused before any lookup. A key that was verified
 * before is let through: clients that share an address with a guesser (behind a proxy, say) keep working.
 */
export function createKeyCheck(
  config: Pick<Config, 'secret' | 'secretOld'>,
  apiKeys: ApiKeyStore,
  guesses: GuessLimit,
  partners: KnownPartners,
): KeyCheck {
  const secrets = secretsOf(config);
  const keys = createKeyLookup(apiKeys);

  async function isGood(key: Buffer, entry: KeptKey): Promise<ApiKeyDocument | undefined> {
    const stored = await entry.stored;
    if (!stored || stored.revokedAt !== null) return undefined;
    const good = (entry.good && same(key, entry.good)) || apiKeys.isKey(key.toString(), stored, secrets);
    if (!good) return undefined;
    entry.good = key;
    return stored;
  }

  return {
    async check(text, network) {
      const key = Buffer.from(text);
      const id = keyIdOf(text);
      const known = id === undefined ? undefined : keys.known(id);
      const trusted = known?.good !== undefined && same(key, known.good);
      // A lookup takes its token in advance, so that concurrent requests cannot exceed the limit.
      const taken = !trusted && !isFresh(known);
      if (taken) guesses.take(network);
      else if (!trusted) guesses.look(network);
      let stored: ApiKeyDocument | undefined;
      try {
        stored = id === undefined ? undefined : await isGood(key, keys.find(id));
      } catch (error) {
        if (taken) guesses.giveBack(network);
        throw error;
      }
      if (!stored) {
        if (!taken) guesses.count(network);
        throw unauthorized('The API key is unknown or has been revoked.');
      }
      if (taken) guesses.giveBack(network);
      // Only a caller with the whole key learns more.
      if (!isActiveKey(stored)) throw expired(stored);
      await partners.refuseSuspended(stored.partner);
      return stored;
    },

    async isActive(id) {
      const stored = await keys.find(id).stored;
      return stored !== null && isActiveKey(stored) && !(await partners.isSuspended(stored.partner));
    },

    async scopesOf(id) {
      const stored = await keys.find(id).stored;
      return stored ? scopesOf(stored) : [];
    },
  };
}

export const scopesOf = ({ scopes }: Pick<ApiKeyDocument, 'scopes'>): readonly KeyScope[] =>
  scopes ?? keyScopes;

export function requireScopes(
  { scopes }: { scopes?: readonly KeyScope[] },
  needed: readonly KeyScope[],
): void {
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
