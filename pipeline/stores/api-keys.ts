/** API keys: `hr_<8 readable>_<256 random bits>`. Only a keyed hash is stored. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { Binary, type Db } from 'mongodb';
import { type ApiKeyDocument, collections } from '../../schemas/documents.ts';
import { deriveKey } from '../runtime/seal.ts';
import { findPartner, ProvisioningError, randomName } from './partners.ts';

const form = /^hr_([a-z0-9]{8})_[A-Za-z0-9_-]{43}$/;
const keys = (db: Db) => db.collection<ApiKeyDocument>(collections.apiKeys);

/** The readable part, or undefined for what cannot be a key. */
export const keyIdOf = (key: string): string | undefined => form.exec(key)?.[1];

const hashOf = (secret: Uint8Array, key: string) =>
  createHmac('sha256', deriveKey(secret, 'api keys')).update(key).digest();

/** Takes the same time for every wrong key. */
export const keyMatches = (secret: Uint8Array, key: string, stored: ApiKeyDocument): boolean =>
  timingSafeEqual(hashOf(secret, key), stored.hash.buffer);

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
