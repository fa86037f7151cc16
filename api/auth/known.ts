/** Caches of partners and token keys. A suspended partner or a retired key is refused everywhere within five seconds. */
import { createSecretKey, type KeyObject } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { cached } from '../../pipeline/runtime/cached.ts';
import { secretsOf } from '../../pipeline/runtime/seal.ts';
import { keepPartners, type PartnerStore } from '../../pipeline/stores/partners.ts';
import type { Config } from '../../schemas/config.ts';
import { Problem } from '../http/problem.ts';
import { openTokenKey, type TokenKeyStore } from '../stores/token-keys.ts';

/** With one lookup, less than five seconds. */
const KEPT_MS = 3_000;
const MAX_KEPT = 10_000;

interface KnownTokenKey {
  partner: string;
  secret: KeyObject;
}

export type KnownTokenKeys = ReturnType<typeof createKnownTokenKeys>;

export function createKnownTokenKeys(
  tokenKeys: Pick<TokenKeyStore, 'find'>,
  config: Pick<Config, 'secret' | 'secretOld'>,
) {
  const secrets = secretsOf(config);
  const kept = new LRUCache<string, Promise<KnownTokenKey | undefined>>({ max: MAX_KEPT, ttl: KEPT_MS });

  /** Undefined: there is none, or it is retired. */
  const lookUp = (id: string): Promise<KnownTokenKey | undefined> =>
    cached(kept, id, async () => {
      const stored = await tokenKeys.find(id);
      if (!stored || stored.retiredAt !== null) return undefined;
      const { partner, secret } = openTokenKey(secrets, stored);
      return { partner, secret: createSecretKey(secret, 'utf8') };
    });

  return { lookUp, isActive: async (id: string) => (await lookUp(id)) !== undefined };
}

export type KnownPartners = ReturnType<typeof createKnownPartners>;

export function createKnownPartners(partners: Pick<PartnerStore, 'lookUp'>) {
  const lookUp = keepPartners(partners);
  const isSuspended = async (id: string) => (await lookUp(id))?.suspendedAt !== undefined;

  return {
    lookUp,
    isSuspended,
    async refuseSuspended(id: string): Promise<void> {
      if (await isSuspended(id))
        throw new Problem(
          'partner_suspended',
          'Your access is suspended. Contact the operator of this service.',
        );
    },
  };
}
