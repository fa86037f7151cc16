/** API keys: `hr_<8 readable>_<256 random bits>`. Only a keyed hash is stored. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { Binary, type Db } from 'mongodb';
import { type ApiKeyDocument, collections } from '../../schemas/documents.ts';
import { deriveKey, secretId } from '../runtime/seal.ts';
import { createPartnerStore, ProvisioningError, randomName } from './partners.ts';

const form = /^hr_([a-z0-9]{8})_[A-Za-z0-9_-]{43}$/;

/** The readable part of the key; undefined if the text does not have the form of a key. */
export const keyIdOf = (key: string): string | undefined => form.exec(key)?.[1];

const hashOf = (secret: Uint8Array, key: string) =>
  createHmac('sha256', deriveKey(secret, 'api keys')).update(key).digest();

/** The secret that the key was hashed with. Takes the same time for every wrong key. */
const secretOfHash = (secrets: readonly Uint8Array[], key: string, stored: ApiKeyDocument) =>
  secrets.filter((secret) => timingSafeEqual(hashOf(secret, key), stored.hash.buffer))[0];

export type ApiKeyStore = ReturnType<typeof createApiKeyStore>;

export function createApiKeyStore(db: Db) {
  const keys = db.collection<ApiKeyDocument>(collections.apiKeys);
  const partners = createPartnerStore(db);

  return {
    find: (id: string): Promise<ApiKeyDocument | null> => keys.findOne({ _id: id }),

    /** A valid key with a hash of an old secret is rehashed: once all keys were used, the old secret can go. */
    isKey(key: string, stored: ApiKeyDocument, secrets: readonly Uint8Array[]): boolean {
      const [current] = secrets as [Uint8Array];
      const secret = secretOfHash(secrets, key, stored);
      if (secret !== undefined && (secret !== current || stored.secretId === undefined))
        // If this fails, the next use of the key repeats it.
        keys
          .updateOne(
            { _id: stored._id, hash: stored.hash },
            { $set: { hash: new Binary(hashOf(current, key)), secretId: secretId(current) } },
          )
          .catch(() => {});
      return secret !== undefined;
    },

    /** Keys that are not known to be hashed with this secret. */
    countOthers: (secret: Uint8Array): Promise<number> =>
      keys.countDocuments({ revokedAt: null, secretId: { $ne: secretId(secret) } }),

    /** The key is only in the result: it is stored nowhere. */
    async create(secret: Uint8Array, partner: string, label?: string): Promise<{ id: string; key: string }> {
      await partners.find(partner);
      const id = randomName(8);
      const key = `hr_${id}_${randomBytes(32).toString('base64url')}`;
      await keys.insertOne({
        _id: id,
        partner,
        hash: new Binary(hashOf(secret, key)),
        secretId: secretId(secret),
        ...(label === undefined ? {} : { label }),
        createdAt: new Date(),
        revokedAt: null,
      });
      return { id, key };
    },

    /** Takes the readable part, with or without its `hr_`, or the whole key. */
    async revoke(given: string): Promise<ApiKeyDocument> {
      const id = given.replace(/^hr_/, '').slice(0, 8);
      const key = await keys.findOneAndUpdate(
        { _id: id },
        [{ $set: { revokedAt: { $ifNull: ['$revokedAt', '$$NOW'] } } }],
        { returnDocument: 'after' },
      );
      if (!key) throw new ProvisioningError('unknown_key', `there is no API key hr_${id}`);
      return key;
    },

    list: (partner?: string): Promise<ApiKeyDocument[]> =>
      keys
        .find(partner === undefined ? {} : { partner })
        .sort({ createdAt: 1, _id: 1 })
        .toArray(),

    removeAll: (partner: string) => keys.deleteMany({ partner }),
  };
}
