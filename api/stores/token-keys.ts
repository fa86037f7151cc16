/** Keys that sign the user tokens of one partner. Their secrets are encrypted, each bound to its key id. */
import { randomBytes } from 'node:crypto';
import { Binary, type Db } from 'mongodb';
import { seal, unseal } from '../../pipeline/runtime/seal.ts';
import { createPartnerStore, ProvisioningError, randomName } from '../../pipeline/stores/partners.ts';
import { resealAll } from '../../pipeline/stores/reseal-all.ts';
import { collections } from '../../schemas/documents.ts';
import type { TokenKeyDocument } from '../../schemas/partner-documents.ts';

export type TokenKeyStore = ReturnType<typeof createTokenKeyStore>;

/** What signs a token. */
export interface SigningKey {
  /** The `kid`. */
  id: string;
  partner: string;
  secret: string;
}

const SECRET_BYTES = 32;

export const isTokenKeyId = (text: string): boolean => /^tk_[a-z0-9]{8}$/.test(text);

const contextOf = ({ _id, partner }: Pick<TokenKeyDocument, '_id' | 'partner'>) =>
  `${partner}/token key ${_id}`;

export const openTokenKey = (secrets: readonly Uint8Array[], stored: TokenKeyDocument): SigningKey => ({
  id: stored._id,
  partner: stored.partner,
  secret: unseal(secrets, stored.sealed, contextOf(stored)),
});

export function createTokenKeyStore(db: Db) {
  const keys = db.collection<TokenKeyDocument>(collections.tokenKeys);
  const partners = createPartnerStore(db);

  const unknown = (id: string) => new ProvisioningError('unknown_key', `there is no token key ${id}`);

  async function create(secret: Uint8Array, partner: string, label?: string): Promise<SigningKey> {
    await partners.find(partner);
    const id = `tk_${randomName(8)}`;
    const text = `tksec_${randomBytes(SECRET_BYTES).toString('base64url')}`;
    await keys.insertOne({
      _id: id,
      partner,
      ...(label === undefined ? {} : { label }),
      sealed: new Binary(seal(secret, text, contextOf({ _id: id, partner }))),
      createdAt: new Date(),
      retiredAt: null,
    });
    return { id, partner, secret: text };
  }

  return {
    create,

    find: (id: string): Promise<TokenKeyDocument | null> => keys.findOne({ _id: id }),

    /** The one to sign with: the newest that is not retired. */
    current: (partner: string): Promise<TokenKeyDocument | null> =>
      keys.findOne({ partner, retiredAt: null }, { sort: { createdAt: -1 } }),

    /** Creates a successor of the given key, which stays valid until it is retired. */
    async rotate(secret: Uint8Array, id: string): Promise<{ made: SigningKey; replaced: TokenKeyDocument }> {
      const old = await keys.findOne({ _id: id });
      if (!old) throw unknown(id);
      const rotated = (to = 'another key') =>
        new ProvisioningError('key_not_active', `${id} was rotated to ${to}`);
      if (old.rotatedTo !== undefined) throw rotated(old.rotatedTo);
      if (old.retiredAt !== null)
        throw new ProvisioningError('key_not_active', `${id} has been retired: create another key`);
      const made = await create(secret, old.partner, old.label);
      const replaced = await keys.findOneAndUpdate(
        { _id: id, rotatedTo: { $exists: false } },
        { $set: { rotatedTo: made.id } },
        { returnDocument: 'after' },
      );
      if (replaced) return { made, replaced };
      await keys.deleteOne({ _id: made.id });
      throw rotated();
    },

    async retire(id: string): Promise<TokenKeyDocument> {
      const key = await keys.findOneAndUpdate(
        { _id: id },
        [{ $set: { retiredAt: { $ifNull: ['$retiredAt', '$$NOW'] } } }],
        { returnDocument: 'after' },
      );
      if (!key) throw unknown(id);
      return key;
    },

    /** Oldest first; of all partners if none is given. */
    list: (partner?: string): Promise<TokenKeyDocument[]> =>
      keys
        .find(partner === undefined ? {} : { partner })
        .sort({ createdAt: 1, _id: 1 })
        .toArray(),

    /** Re-encrypts with the current secret. Returns the number of keys changed. */
    reseal: (secrets: readonly Uint8Array[]) => resealAll(keys, keys.find(), secrets, contextOf),
  };
}
