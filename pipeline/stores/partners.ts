/** Partners: who may call, and where their files lie in the shared bucket. */
import { randomInt } from 'node:crypto';
import type { Db } from 'mongodb';
import { collections, type PartnerDocument } from '../../schemas/documents.ts';

/** An operator's request that cannot be fulfilled. The message is meant for people. */
export class ProvisioningError extends Error {
  override readonly name = 'ProvisioningError';

  constructor(
    readonly code:
      | 'bad_argument'
      | 'unknown_partner'
      | 'unknown_attribute'
      | 'unknown_key'
      | 'foreign_key_taken'
      | 'already_associated'
      | 'storage_failed'
      | 'unknown_job'
      | 'cannot_cancel'
      | 'not_configured',
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

const letters = 'abcdefghijklmnopqrstuvwxyz0123456789';
export const randomName = (length: number, alphabet = letters) =>
  Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('');

/**
 * A partner that is not stored yet. Its prefix is its random id and a slash: unique, and since the only slash is at the end, no
 * partner's prefix begins with another's.
 */
export function draftPartner(name: string): PartnerDocument {
  if (name.trim() === '' || name.length > 256)
    throw new ProvisioningError('bad_argument', 'the name of a partner must have 1 to 256 characters');
  const id = `p-${randomName(12)}`;
  return {
    _id: id,
    name,
    prefix: `${id}/`,
    storageUser: `HR${randomName(18, 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789')}`,
    createdAt: new Date(),
  };
}

export function createPartnerStore(db: Db) {
  const partners = db.collection<PartnerDocument>(collections.partners);

  return {
    insert: (partner: PartnerDocument) => partners.insertOne(partner),
    remove: (id: string) => partners.deleteOne({ _id: id }),

    async find(id: string): Promise<PartnerDocument> {
      const partner = await partners.findOne({ _id: id });
      if (!partner) throw new ProvisioningError('unknown_partner', `there is no partner ${id}`);
      return partner;
    },

    list: () => partners.find().sort({ createdAt: 1, _id: 1 }).toArray(),
  };
}
