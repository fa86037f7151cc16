/** API keys: `hr_<8 readable>_<256 random bits>`. Only a keyed hash is stored. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { Binary, type Db } from 'mongodb';
import { deriveKey, secretId } from '../../pipeline/runtime/seal.ts';
import { createPartnerStore, ProvisioningError, randomName } from '../../pipeline/stores/partners.ts';
import { collections } from '../../schemas/documents.ts';
import type { ApiKeyDocument, KeyScope } from '../../schemas/partner-documents.ts';

const form = /^hr_([a-z0-9]{8})_[A-Za-z0-9_-]{43}$/;

/** The readable part of the key; undefined if the text does not have the form of a key. */
export const keyIdOf = (key: string): string | undefined => form.exec(key)?.[1];

const hashOf = (secret: Uint8Array, key: string) =>
  createHmac('sha256', deriveKey(secret, 'api keys')).update(key).digest();

/** The secret that the key was hashed with. Takes the same time for every wrong key. */
const secretOfHash = (secrets: readonly Uint8Array[], key: string, stored: ApiKeyDocument) =>
  secrets.filter((secret) => timingSafeEqual(hashOf(secret, key), stored.hash.buffer))[0];

interface KeyLimits {
  scopes?: KeyScope[] | undefined;
  expiresAt?: Date | undefined;
}

/** Whether the key may be used now, apart from its secret part. */
export const isActiveKey = ({ revokedAt, expiresAt }: ApiKeyDocument): boolean =>
  revokedAt === null && !(expiresAt && expiresAt.getTime() <= Date.now());

const idIn = (given: string) => given.replace(/^hr_/, '').slice(0, 8);

export type ApiKeyStore = ReturnType<typeof createApiKeyStore>;

export function createApiKeyStore(db: Db) {
  const keys = db.collection<ApiKeyDocument>(collections.apiKeys);
  const partners = createPartnerStore(db);

  const unknown = (id: string) => new ProvisioningError('unknown_key', `there is no API key hr_${id}`);

  /** Returns the key, which is stored nowhere. */
  async function create(
    secret: Uint8Array,
    partner: string,
    label?: string,
    { scopes, expiresAt }: KeyLimits = {},
  ): Promise<{ id: string; key: string; expiresAt: Date | undefined }> {
    await partners.find(partner);
    const id = randomName(8);
    const key = `hr_${id}_${randomBytes(32).toString('base64url')}`;
    await keys.insertOne({
      _id: id,
      partner,
      hash: new Binary(hashOf(secret, key)),
      secretId: secretId(secret),
      ...(label === undefined ? {} : { label }),
      ...(scopes === undefined ? {} : { scopes }),
      createdAt: new Date(),
      ...(expiresAt === undefined ? {} : { expiresAt }),
      revokedAt: null,
    });
    return { id, key, expiresAt };
  }

  return {
    find: (id: string): Promise<ApiKeyDocument | null> => keys.findOne({ _id: id }),

    /** Rehashes a valid key from an old secret: once every key has been used, the old secret can be removed. */
    isKey(key: string, stored: ApiKeyDocument, secrets: readonly Uint8Array[]): boolean {
      const [current] = secrets as [Uint8Array];
      const secret = secretOfHash(secrets, key, stored);
      if (secret !== undefined && secret !== current)
        // If this fails, the next use of the key repeats it.
        keys
          .updateOne(
            { _id: stored._id, hash: stored.hash },
            { $set: { hash: new Binary(hashOf(current, key)), secretId: secretId(current) } },
          )
          .catch(() => {});
      return secret !== undefined;
    },

    /** Keys not yet hashed with this secret. */
    countOthers: (secret: Uint8Array): Promise<number> =>
      keys.countDocuments({ revokedAt: null, secretId: { $ne: secretId(secret) } }),

    create,

    /**
     * Creates a copy of the given key, which works at once; the given key expires at `oldUntil` or sooner. A crash between the two
     * writes leaves a key that nobody knows.
     */
    async rotate(secret: Uint8Array, given: string, oldUntil: Date, expiresAt?: Date) {
      const id = idIn(given);
      const old = await keys.findOne({ _id: id });
      if (!old) throw unknown(id);
      const rotated = (to = 'another key') =>
        new ProvisioningError('key_not_active', `hr_${id} was rotated to ${to}`);
      if (old.rotatedTo !== undefined) throw rotated(`hr_${old.rotatedTo}`);
      if (!isActiveKey(old))
        throw new ProvisioningError(
          'key_not_active',
          `hr_${id} has ${old.revokedAt === null ? 'expired' : 'been revoked'}: create another key`,
        );
      const lifetime = old.expiresAt && old.expiresAt.getTime() - old.createdAt.getTime();
      const made = await create(secret, old.partner, old.label, {
        scopes: old.scopes,
        expiresAt: expiresAt ?? (lifetime === undefined ? undefined : new Date(Date.now() + lifetime)),
      });
      const replaced = await keys.findOneAndUpdate(
        { _id: id, rotatedTo: { $exists: false } },
        { $min: { expiresAt: oldUntil }, $set: { rotatedTo: made.id } },
        { returnDocument: 'after' },
      );
      if (!replaced) {
        await keys.deleteOne({ _id: made.id });
        throw rotated();
      }
      return { made, replaced };
    },

    /** Takes the readable part, with or without its `hr_`, or the whole key. */
    async revoke(given: string): Promise<ApiKeyDocument> {
      const id = idIn(given);
      const key = await keys.findOneAndUpdate(
        { _id: id },
        [{ $set: { revokedAt: { $ifNull: ['$revokedAt', '$$NOW'] } } }],
        { returnDocument: 'after' },
      );
      if (!key) throw unknown(id);
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
