/** Opens a console session for an API key or a user token. */
import { randomBytes } from 'node:crypto';
import { ProvisioningError } from '../../pipeline/stores/partners.ts';
import { Problem } from '../http/problem.ts';
import type { ApiStores } from '../stores/api-stores.ts';
import { type KeyCheck, requireScopes } from './check-key.ts';
import type { KnownPartners } from './known.ts';
import type { GuessLimit } from './limit-guesses.ts';
import type { Session } from './session-cookie.ts';
import { badUserToken, type UserToken, type VerifyUserToken } from './user-tokens.ts';

interface Environment {
  partners: ApiStores['partners'];
  knownPartners: KnownPartners;
  keys: KeyCheck;
  verify: VerifyUserToken;
  guesses: GuessLimit;
}

/** Longest session; none outlives its user token or API key. */
const SESSION_MS = 8 * 3_600_000;

const newId = () => randomBytes(12).toString('base64url');

export type SignIn = ReturnType<typeof createSignIn>;

export function createSignIn({ partners, knownPartners, keys, verify, guesses }: Environment) {
  const latestEnd = () => Date.now() + SESSION_MS;

  /** No API key vouches for the partner here: the token alone names it. */
  async function verifyAlone(token: string): Promise<UserToken> {
    const verified = await verify(token);
    try {
      await partners.find(verified.partner);
    } catch (error) {
      if (error instanceof ProvisioningError) throw badUserToken('The user token names an unknown partner.');
      throw error;
    }
    return verified;
  }

  return {
    async withKey(key: string, network: string): Promise<Session> {
      const stored = await keys.check(key, network);
      requireScopes(stored, ['read']);
      const { _id, partner, expiresAt } = stored;
      const end = Math.min(expiresAt?.getTime() ?? Number.POSITIVE_INFINITY, latestEnd());
      return { id: newId(), partner, customer: null, key: _id, tokenKey: null, expiresAt: end };
    },

    async withToken(token: string, network: string): Promise<Session> {
      guesses.take(network);
      let isGuess = false;
      try {
        const verified = await verifyAlone(token);
        await knownPartners.refuseSuspended(verified.partner);
        const expiresAt = Math.min(verified.expiresAt, latestEnd());
        return { id: newId(), ...verified, key: null, expiresAt };
      } catch (error) {
        isGuess = error instanceof Problem && error.status === 401;
        throw error;
      } finally {
        if (!isGuess) guesses.giveBack(network);
      }
    },
  };
}
