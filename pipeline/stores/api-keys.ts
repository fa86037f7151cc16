/** API keys: `hr_<8 readable>_<256 random bits>`. Only a keyed hash is stored. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { Binary, type Db } from 'mongodb';
import { type ApiKeyDocument, collections } from '../../schemas/documents.ts';
import { deriveKey, secretId } from '../runtime/seal.ts';
import { findPartner, ProvisioningError, randomName } from './partners.ts';

const form = /^hr_([a-z0-9]{8})_[A-Za-z0-9_-]{43}$/;
const keys = (db: Db) => db.collection<ApiKeyDocument>(collections.apiKeys);

/** The readable part, or undefined for what cannot be a key. */
export const keyIdOf = (key: string): string | undefined => form.exec(key)?.[1];

const hashOf = (secret: Uint8Array, key: string) =>
  createHmac('sha256', deriveKey(secret, 'api keys')).update(key).digest();

/** The secret under which this is the key's hash. Takes the same time for every wrong key. */
const secretOfHash = (secrets: readonly Uint8Array[], key: string, stored: ApiKeyDocument) =>
  secrets.filter((secret) => timingSafeEqual(hashOf(secret, key), stored.hash.buffer))[0];

export type CheckKey = (key: string, stored: ApiKeyDocument) => boolean;

/** A key that was hashed under an old secret is good, and is hashed anew: when all have been used, the old secret can go. */
export function createKeyCheck(db: Db, secrets: readonly Uint8Array[]): CheckKey {
  const [current] = secrets as [Uint8Array];
  return (key, stored) => {
    const secret = secretOfHash(secrets, key, stored);
    if (secret !== undefined && (secret !== current || stored.secretId === undefined))
      // Should it fail, the next use does it.
      void keys(db)
        .updateOne(
          { _id: stored._id, hash: stored.hash },
          { $set: { hash: new Binary(hashOf(current, key)), secretId: secretId(current) } },
        )
        .catch(() => {});
    return secret !== undefined;
  };
}

/** Keys that may not be hashed under this secret yet. */
export const countOtherKeys = (db: Db, secret: Uint8Array): Promise<number> =>
  keys(db).countDocuments({ revokedAt: null, secretId: { $ne: secretId(secret) } });

/** The key is in the answer and nowhere else, ever. */
export async function createApiKey(
  db: Db,
  secret: Uint8Array,
  partner: string,
  label?: string,
): Promise<{ id: string; key: string }> {
  await findPartner(db, partner);
  const id = randomName(8);
  const key = `hr_${id}_${randomBytes(32).toString('base64url')}`;
  await keys(db).insertOne({
    _id: id,
    partner,
    hash: new Binary(hashOf(secret, key)),
    secretId: secretId(secret),
    ...(label === undefined ? {} : { label }),
    createdAt: new Date(),
    revokedAt: null,
  });
  return { id, key };
}

export const findApiKey = (db: Db, id: string): Promise<ApiKeyDocument | null> =>
  keys(db).findOne({ _id: id });

/** Takes the readable part, with or without the `hr_` before it. A whole key works too: only its readable part is used. */
export async function revokeApiKey(db: Db, given: string): Promise<ApiKeyDocument> {
  const id = given.replace(/^hr_/, '').slice(0, 8);
  const key = await keys(db).findOneAndUpdate(
    { _id: id },
    [{ $set: { revokedAt: { $ifNull: ['$revokedAt', '$$NOW'] } } }],
    { returnDocument: 'after' },
  );
  if (!key) throw new ProvisioningError('unknown_key', `there is no API key hr_${id}`);
  return key;
}

export const listApiKeys = (db: Db, partner?: string): Promise<ApiKeyDocument[]> =>
  keys(db)
    .find(partner === undefined ? {} : { partner })
    .sort({ createdAt: 1, _id: 1 })
    .toArray();

export async function removeApiKeys(db: Db, partner: string): Promise<void> {
  await keys(db).deleteMany({ partner });
}
