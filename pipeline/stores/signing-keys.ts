/** The installation's keys for signing receipts. Each private key is encrypted and bound to its id. */
import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { calculateJwkThumbprint, type JWK } from 'jose';
import { Binary, type Db } from 'mongodb';
import { collections, type SigningKeyDocument } from '../../schemas/documents.ts';
import { seal, unseal } from '../runtime/seal.ts';
import { resealAll } from './reseal-all.ts';

export const SIGNING_ALGORITHM = 'ES256';
type CompleteKey = Required<SigningKeyDocument>;
const canSign = { sealed: { $exists: true } };
const contextOf = (id: string) => `signing key ${id}`;

export function createSigningKeyStore(db: Db) {
  const keys = db.collection<SigningKeyDocument>(collections.signingKeys);

  async function create(secret: Uint8Array): Promise<CompleteKey> {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const jwk = publicKey.export({ format: 'jwk' }) as JWK;
    const _id = await calculateJwkThumbprint(jwk);
    const text = JSON.stringify(privateKey.export({ format: 'jwk' }));
    const key: CompleteKey = {
      _id,
      publicKey: JSON.stringify({ ...jwk, kid: _id, alg: SIGNING_ALGORITHM, use: 'sig' }),
      sealed: new Binary(seal(secret, text, contextOf(_id))),
      createdAt: new Date(),
    };
    await keys.insertOne(key);
    return key;
  }

  return {
    /** The current signing key. Creates one at first use. */
    async current(secrets: readonly Uint8Array[]): Promise<{ id: string; key: KeyObject }> {
      const newest = { sort: { createdAt: -1, _id: -1 } } as const;
      const stored = (await keys.findOne<CompleteKey>(canSign, newest)) ?? (await create(secrets[0]!));
      const jwk = JSON.parse(unseal(secrets, stored.sealed, contextOf(stored._id))) as JWK;
      return { id: stored._id, key: createPrivateKey({ key: jwk as never, format: 'jwk' }) };
    },

    /** Replaces the signing key. Only the public keys of earlier ones are kept. */
    async rotate(secret: Uint8Array): Promise<{ made: string; replaced: string[] }> {
      const { _id } = await create(secret);
      const others = await keys.find({ ...canSign, _id: { $ne: _id } }, { projection: { _id: 1 } }).toArray();
      const replaced = others.map((key) => key._id);
      await keys.updateMany({ _id: { $in: replaced } }, { $unset: { sealed: '' } });
      return { made: _id, replaced };
    },

    /** For verifying receipts: public keys are never removed. */
    publicKeys: async (): Promise<JWK[]> =>
      (await keys.find({}, { projection: { publicKey: 1 } }).toArray()).map(
        ({ publicKey }) => JSON.parse(publicKey) as JWK,
      ),

    /** Re-encrypts keys that were encrypted with an old secret. */
    reseal: (secrets: readonly Uint8Array[]) =>
      resealAll(keys, keys.find(canSign), secrets, ({ _id }) => contextOf(_id)),
  };
}
