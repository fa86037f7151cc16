/** The audit log: what operators did. Entries are added and completed, never changed or removed. */
import { type Db, type Filter, ObjectId } from 'mongodb';
import type { AuditDocument } from '../../schemas/account-documents.ts';
import { collections } from '../../schemas/documents.ts';

export type AuditedAction = Pick<AuditDocument, 'actor' | 'action' | 'partner' | 'details'>;
export type AuditedOutcome = Pick<AuditDocument, 'outcome' | 'error'> & { partner?: string | undefined };

export type AuditStore = ReturnType<typeof createAuditStore>;

export function createAuditStore(db: Db) {
  const entries = db.collection<AuditDocument>(collections.audit);

  return {
    /** Times are the database's, because the clocks of operators' machines may differ. */
    async begin(action: AuditedAction): Promise<ObjectId> {
      const _id = new ObjectId();
      await entries.updateOne(
        { _id },
        { $setOnInsert: { ...action, outcome: 'intended' }, $currentDate: { at: true } },
        { upsert: true },
      );
      return _id;
    },

    /** Adds the partner, if it was unknown at `begin`. */
    async complete(_id: ObjectId, outcome: AuditedOutcome): Promise<void> {
      await entries.updateOne(
        { _id, outcome: 'intended' },
        { $set: outcome, $currentDate: { endedAt: true } },
      );
    },

    /** Newest first. */
    list({ partner, since, limit }: { partner?: string; since?: Date; limit: number }) {
      const filter: Filter<AuditDocument> = {
        ...(partner === undefined ? {} : { partner }),
        ...(since === undefined ? {} : { at: { $gte: since } }),
      };
      return entries.find(filter).sort({ at: -1 }).limit(limit).toArray();
    },
  };
}
