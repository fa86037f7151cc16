/** User tokens as a partner's own site signs them, with a key that the operator created. */
import type { Db } from 'mongodb';
import { signUserToken } from '../../api/auth/user-tokens.ts';
import { createTokenKeyStore, type SigningKey } from '../../api/stores/token-keys.ts';
import type { Config } from '../../schemas/config.ts';

export type SignToken = ReturnType<typeof createTokenSigner>;

export function createTokenSigner(db: Db, config: Config) {
  const tokenKeys = createTokenKeyStore(db);
  const made = new Map<string, Promise<SigningKey>>();
  const keyOf = (partner: string): Promise<SigningKey> => {
    const key = made.get(partner) ?? tokenKeys.create(config.secret, partner);
    made.set(partner, key);
    return key;
  };
  const sign = async (partner: string, customer: string, expiresIn = '1h'): Promise<string> =>
    signUserToken(await keyOf(partner), customer, expiresIn, config);
  return Object.assign(sign, { keyOf });
}
