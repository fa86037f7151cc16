/** The keys with which this installation signs receipts: their private halves are encrypted, each for itself alone. */
import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { calculateJwkThumbprint, type JWK } from 'jose';
import { Binary, type Db } from 'mongodb';
import { collections, type SigningKeyDocument } from '../../schemas/documents.ts';
import { seal, sealedWith, secretId, unseal } from '../runtime/seal.ts';

export type SigningKeyStore = ReturnType<typeof createSigningKeyStore>;

export const SIGNING_ALGORITHM = 'ES256';
const contextOf = (id: string) => `signing key ${id}`;

export function createSigningKeyStore(db: Db) {
  const keys = db.collection<SigningKeyDocument>(collections.signingKeys);

  async function create(secret: Uint8Array): Promise<SigningKeyDocument> {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const jwk = publicKey.export({ format: 'jwk' }) as JWK;
    const _id = await calculateJwkThumbprint(jwk);
    const text = JSON.stringify(privateKey.export({ format: 'jwk' }));
    const key: SigningKeyDocument = {
      _id,
      publicKey: JSON.stringify({ ...jwk, kid: _id, alg: SIGNING_ALGORITHM, use: 'sig' }),
      sealed: new Binary(seal(secret, text, contextOf(_id))),
      createdAt: new Date(),
    };
    await keys.insertOne(key);
    return key;
  }

  return {
    /** The key to sign with: the newest, or the first. */
    async current(secrets: readonly Uint8Array[]): Promise<{ id: string; key: KeyObject }> {
      const stored =
        (await keys.findOne({}, { sort: { createdAt: -1, _id: -1 } })) ?? (await create(secrets[0]!));
      const jwk = JSON.parse(unseal(secrets, stored.sealed, contextOf(stored._id))) as JWK;
      return { id: stored._id, key: createPrivateKey({ key: jwk as never, format: 'jwk' }) };
    },

    /** What verifies receipts: keys are never removed. */
    publicKeys: async (): Promise<JWK[]> =>
      (await keys.find({}, { projection: { publicKey: 1 } }).toArray()).map(
        ({ publicKey }) => JSON.parse(publicKey) as JWK,
      ),

    /** Encrypts with the current secret what an old one has encrypted. */
    async reseal(secrets: readonly Uint8Array[]): Promise<number> {
      const [current] = secrets as [Uint8Array];
      let resealed = 0;
      for await (const { _id, sealed: before } of keys.find()) {
        if (sealedWith(before) === secretId(current)) continue;
        const text = unseal(secrets, before, contextOf(_id));
        const sealed = new Binary(seal(current, text, contextOf(_id)));
        resealed += (await keys.updateOne({ _id, sealed: before }, { $set: { sealed } })).modifiedCount;
      }
      return resealed;
    },
  };
}
