/** Opens a console session for an API key or a user token. */
import { randomBytes } from 'node:crypto';
import { secretsOf } from '../../pipeline/runtime/seal.ts';
import { ProvisioningError } from '../../pipeline/stores/partners.ts';
import type { Config } from '../../schemas/config.ts';
import { Problem } from '../http/problem.ts';
import type { ApiStores } from '../stores/api-stores.ts';
import { type KeyCheck, requireScopes } from './check-key.ts';
import type { KnownPartners } from './known.ts';
import type { GuessLimit } from './limit-guesses.ts';
import type { Session } from './session-cookie.ts';
import { openShareLink } from './share-links.ts';
import { badUserToken, type UserToken, type VerifyUserToken } from './user-tokens.ts';

interface Environment {
  config: Pick<Config, 'secret' | 'secretOld'>;
  audiences: Pick<ApiStores['audiences'], 'find'>;
  partners: ApiStores['partners'];
  knownPartners: KnownPartners;
  keys: KeyCheck;
  verify: VerifyUserToken;
  guesses: GuessLimit;
}

/** Longest session; none outlives its user token or API key. */
const SESSION_MS = 8 * 3_600_000;

const newId = () => randomBytes(12).toString('base64url');

/** The link is genuine, but has expired or its key has ended. */
export class EndedLink extends Error {
  constructor(readonly partner: string) {
    super('the link has ended');
  }
}

export type SignIn = ReturnType<typeof createSignIn>;

export function createSignIn(environment: Environment) {
  const { config, audiences, partners, knownPartners, keys, verify, guesses } = environment;
  const secrets = secretsOf(config);
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

  /** Limits attempts with credentials that are not valid. */
  async function unlessGuessed(network: string, open: () => Promise<Session>): Promise<Session> {
    guesses.take(network);
    let isGuess = false;
    try {
      return await open();
    } catch (error) {
      isGuess = error instanceof Problem && error.status === 401;
      throw error;
    } finally {
      if (!isGuess) guesses.giveBack(network);
    }
  }

  return {
    async withKey(key: string, network: string): Promise<Session> {
      const stored = await keys.check(key, network);
      requireScopes(stored, ['read']);
      const { _id, partner, expiresAt } = stored;
      const end = Math.min(expiresAt?.getTime() ?? Number.POSITIVE_INFINITY, latestEnd());
      return { id: newId(), partner, customer: null, key: _id, tokenKey: null, expiresAt: end };
    },

    withToken: (token: string, network: string): Promise<Session> =>
      unlessGuessed(network, async () => {
        const verified = await verifyAlone(token);
        await knownPartners.refuseSuspended(verified.partner);
        const expiresAt = Math.min(verified.expiresAt, latestEnd());
        return { id: newId(), ...verified, key: null, expiresAt };
      }),

    /** Shows one report, as the audience's customer sees it, until the link or its API key ends. */
    withShareLink: (sealed: string, network: string): Promise<Session> =>
      unlessGuessed(network, async () => {
        const link = openShareLink(secrets, sealed);
        if (!link) throw badUserToken('The link is not valid.');
        const { partner, audience, key } = link;
        await knownPartners.refuseSuspended(partner);
        const found = await audiences.find({ partner, customer: null }, audience);
        if (!found || Date.now() >= link.expiresAt || !(await keys.isActive(key)))
          throw new EndedLink(partner);
        const expiresAt = Math.min(link.expiresAt, latestEnd());
        return { id: newId(), partner, customer: found.customer, key, tokenKey: null, audience, expiresAt };
      }),
  };
}
