/** Partners: who may call, and the prefix of their files in the shared bucket. */
import { randomInt } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Db, UpdateFilter } from 'mongodb';
import { collections } from '../../schemas/documents.ts';
import type { PartnerDocument, PartnerQuotas } from '../../schemas/partner-documents.ts';
import { cached } from '../runtime/cached.ts';

/** An operator's request that cannot be fulfilled. The message is shown to people. */
export class ProvisioningError extends Error {
  override readonly name = 'ProvisioningError';

  constructor(
    readonly code:
      | 'bad_argument'
      | 'unknown_partner'
      | 'unknown_attribute'
      | 'unknown_request'
      | 'unknown_key'
      | 'key_not_active'
      | 'foreign_key_taken'
      | 'already_associated'
      | 'storage_failed'
      | 'suspended'
      | 'rotating'
      | 'unknown_job'
      | 'cannot_cancel'
      | 'not_stopped'
      | 'unknown_webhook'
      | 'webhook_refused'
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
 * A partner that is not stored yet. Its prefix is its random id and a slash: unique, and because the only slash is the last character, no
 * partner's prefix starts with another's.
 */
export function draftPartner(name: string): PartnerDocument {
  if (name.trim() === '' || name.length > 256)
    throw new ProvisioningError('bad_argument', 'the name of a partner must have 1 to 256 characters');
  const id = `p-${randomName(12)}`;
  return {
    _id: id,
    name,
    prefix: `${id}/`,
    storageUser: newStorageUser(),
    createdAt: new Date(),
  };
}

export const newStorageUser = () => `HR${randomName(18, 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789')}`;

export type PartnerStore = ReturnType<typeof createPartnerStore>;

export function createPartnerStore(db: Db) {
  const partners = db.collection<PartnerDocument>(collections.partners);

  const unknown = (id: string) => new ProvisioningError('unknown_partner', `there is no partner ${id}`);
  async function change(id: string, update: UpdateFilter<PartnerDocument>): Promise<PartnerDocument> {
    const changed = await partners.findOneAndUpdate({ _id: id }, update, { returnDocument: 'after' });
    if (!changed) throw unknown(id);
    return changed;
  }

  return {
    insert: (partner: PartnerDocument) => partners.insertOne(partner),
    remove: (id: string) => partners.deleteOne({ _id: id }),

    async find(id: string): Promise<PartnerDocument> {
      const partner = await partners.findOne({ _id: id });
      if (!partner) throw unknown(id);
      return partner;
    },

    async namesOf(ids: string[]): Promise<Map<string, string>> {
      const found = await partners
        .find({ _id: { $in: ids } })
        .project<Pick<PartnerDocument, '_id' | 'name'>>({ name: 1 })
        .toArray();
      return new Map(found.map(({ _id, name }) => [_id, name]));
    },

    lookUp: (id: string): Promise<PartnerDocument | null> => partners.findOne({ _id: id }),

    /** Idempotent: keeps the time of the first suspension. */
    suspend: (id: string) => change(id, { $min: { suspendedAt: new Date() } }),
    resume: (id: string) => change(id, { $unset: { suspendedAt: '' } }),

    /** Null resets a quota to the configured default. */
    async setQuotas(id: string, quotas: { [Name in keyof PartnerQuotas]: number | null }) {
      const entries = Object.entries(quotas).map(([name, value]) => [`quotas.${name}`, value] as const);
      return change(id, {
        $set: Object.fromEntries(entries.filter(([, value]) => value !== null)),
        $unset: Object.fromEntries(entries.flatMap(([name, value]) => (value === null ? [[name, '']] : []))),
      });
    },

    /** Recorded before the user is created, so that a user whose keys were never issued can be removed. */
    planStorageUser: (id: string, nextStorageUser: string) => change(id, { $set: { nextStorageUser } }),
    /** Makes the planned storage user the current one. The previous user stays until it is retired. */
    async promoteStorageUser({ _id, storageUser }: PartnerDocument, next: string): Promise<void> {
      await partners.updateOne(
        { _id, storageUser, nextStorageUser: next },
        { $set: { storageUser: next, oldStorageUser: storageUser }, $unset: { nextStorageUser: '' } },
      );
    },
    async forgetStorageUser({ _id }: PartnerDocument, oldStorageUser: string): Promise<void> {
      await partners.updateOne({ _id, oldStorageUser }, { $unset: { oldStorageUser: '' } });
    },

    list: () => partners.find().sort({ createdAt: 1, _id: 1 }).toArray(),
  };
}

/** Maximum delay until a suspension or a changed quota takes effect. */
const KEPT_MS = 3_000;
const MAX_KEPT = 10_000;

/** Caches look-ups for three seconds. */
export function keepPartners(partners: Pick<PartnerStore, 'lookUp'>) {
  const kept = new LRUCache<string, Promise<PartnerDocument | null>>({ max: MAX_KEPT, ttl: KEPT_MS });
  return (id: string): Promise<PartnerDocument | null> => cached(kept, id, () => partners.lookUp(id));
}
