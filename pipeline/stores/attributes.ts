/**
 * Attributes and their foreign keys. Each creation and each association takes the next number of a sequence. A job sees only numbers up to
 * the one current when it was accepted, so that validating its files again yields the same result.
 */
import type { ClientSession, Db } from 'mongodb';
import { type AttributeDocument, collections } from '../../schemas/documents.ts';
import type { JobDocument } from '../../schemas/job-documents.ts';
import { plainText } from '../../schemas/paths.ts';
import { createCounterStore } from './counters.ts';
import { createPartnerStore, ProvisioningError } from './partners.ts';

export function checkForeignKey(key: string): void {
  if (key === '' || !plainText.test(key) || key.trim() !== key || Buffer.byteLength(key) > 256)
    throw new ProvisioningError(
      'bad_argument',
      'a foreign key must have 1 to 256 bytes, without control characters or leading or trailing spaces',
    );
}

export function checkName(name: string): void {
  if (name.trim() === '' || name.length > 256 || !plainText.test(name))
    throw new ProvisioningError(
      'bad_argument',
      'the name of an attribute must have 1 to 256 characters, none of them a control character',
    );
}

/** An attribute to be created. */
export interface NewAttribute {
  name: string;
  foreignKey?: string | undefined;
  isPrivate?: boolean | undefined;
}

interface OneAttribute {
  id: number;
  /** Absent: of any partner. */
  partner?: string;
}

/** An attribute in a report. */
type DescribedAttribute = Pick<AttributeDocument, '_id' | 'name' | 'partner' | 'isPrivate'>;

const notDeleted = { deletedSequence: { $exists: false } };
/** Attributes that a job may use: neither created after it was accepted nor deleted before. */
const seenBy = ({ partner, attributesAsOf }: Pick<JobDocument, 'partner' | 'attributesAsOf'>) => ({
  partner,
  sequence: { $lte: attributesAsOf },
  $or: [notDeleted, { deletedSequence: { $gt: attributesAsOf } }],
});
/** An attribute of the partner, or of any. */
const matching = ({ id, partner }: OneAttribute) => ({
  _id: id,
  ...(partner === undefined ? {} : { partner }),
});

/** Maximum delay between an update's timestamp and its visibility. */
const MARGIN_MS = 60_000;

const isDuplicate = (error: unknown) => (error as { code?: unknown }).code === 11000;
const taken = (key: string, cause: unknown) =>
  new ProvisioningError(
    'foreign_key_taken',
    `another attribute of this partner has, or had, the foreign key ${key}`,
    {
      cause,
    },
  );

export type AttributeStore = ReturnType<typeof createAttributeStore>;

export function createAttributeStore(db: Db) {
  const attributes = db.collection<AttributeDocument>(collections.attributes);
  const counters = createCounterStore(db);
  const partners = createPartnerStore(db);

  const inTransaction = <T>(work: (session: ClientSession) => Promise<T>) =>
    db.client.withSession((session) => session.withTransaction(() => work(session)));

  /** One transaction: otherwise a job might be accepted with a sequence number whose attribute is not visible yet. */
  const insert = (partner: string, wanted: NewAttribute[]): Promise<AttributeDocument[]> =>
    inTransaction(async (session) => {
      const first = await counters.takeAttributeSequences(wanted.length, session);
      const created = wanted.map(({ name, foreignKey, isPrivate }, i): AttributeDocument => {
        const sequence = first + i;
        const association = foreignKey === undefined ? {} : { foreignKey, foreignKeySequence: sequence };
        const visibility = isPrivate ? { isPrivate: true as const } : {};
        return {
          _id: sequence,
          partner,
          name,
          sequence,
          ...association,
          ...visibility,
          createdAt: new Date(),
        };
      });
      await attributes.insertMany(created, { session });
      return created;
    });

  return {
    async create({ partner, ...wanted }: NewAttribute & { partner: string }): Promise<AttributeDocument> {
      const { name, foreignKey } = wanted;
      checkName(name);
      if (foreignKey !== undefined) checkForeignKey(foreignKey);
      await partners.find(partner);
      try {
        const [attribute] = await insert(partner, [wanted]);
        return attribute!;
      } catch (error) {
        throw isDuplicate(error) && foreignKey !== undefined ? taken(foreignKey, error) : error;
      }
    },

    /** Creates all or none. Names and foreign keys must have been checked. */
    createAll: insert,

    /** The partner's attributes that have one of these foreign keys, or had it before they were deleted. */
    withForeignKeys: (partner: string, keys: string[]): Promise<AttributeDocument[]> =>
      attributes.find({ partner, foreignKey: { $in: keys } }).toArray(),

    async associate(id: number, foreignKey: string): Promise<AttributeDocument> {
      checkForeignKey(foreignKey);
      try {
        return await inTransaction(async (session) => {
          const attribute = await attributes.findOne({ _id: id, ...notDeleted }, { session });
          if (!attribute) throw new ProvisioningError('unknown_attribute', `there is no attribute ${id}`);
          if (attribute.foreignKey !== undefined)
            throw new ProvisioningError(
              'already_associated',
              `attribute ${id} has the foreign key ${attribute.foreignKey}; it cannot be changed`,
            );
          const foreignKeySequence = await counters.takeAttributeSequences(1, session);
          const set = { foreignKey, foreignKeySequence };
          await attributes.updateOne({ _id: id }, { $set: set }, { session });
          return { ...attribute, ...set };
        });
      } catch (error) {
        throw isDuplicate(error) ? taken(foreignKey, error) : error;
      }
    },

    list: (partner: string): Promise<AttributeDocument[]> =>
      attributes
        .find({ partner, ...notDeleted })
        .sort({ _id: 1 })
        .toArray(),

    /** Newest first, starting before an attribute. */
    page: (partner: string, { before, limit = 0 }: { before?: number | undefined; limit?: number }) =>
      attributes
        .find({ partner, ...notDeleted, ...(before === undefined ? {} : { _id: { $lt: before } }) })
        .sort({ _id: -1 })
        .limit(limit),

    /** Those of the attributes that belong to the partner, including deleted ones. */
    async ownedAmong(partner: string, ids: number[]): Promise<Set<number>> {
      const found = attributes.find({ _id: { $in: ids }, partner }, { projection: { _id: 1 } });
      return new Set((await found.toArray()).map(({ _id }) => _id));
    },

    async describe(ids: number[]): Promise<Map<number, DescribedAttribute>> {
      const found = await attributes
        .find({ _id: { $in: ids }, ...notDeleted })
        .project<DescribedAttribute>({ name: 1, partner: 1, isPrivate: 1 })
        .toArray();
      return new Map(found.map((attribute) => [attribute._id, attribute]));
    },

    /** Number of attributes that rows of the job may use, up to `max`. */
    countFor: (job: JobDocument, max: number): Promise<number> =>
      attributes.countDocuments(seenBy(job), { limit: max }),

    /** Null if there is none, or it is another partner's. Reports are computed again. */
    async rename(which: OneAttribute, name: string): Promise<AttributeDocument | null> {
      checkName(name);
      const options = { returnDocument: 'after' } as const;
      const renamed = await attributes.findOneAndUpdate(
        { ...matching(which), ...notDeleted },
        { $set: { name } },
        options,
      );
      if (renamed) await counters.visibilityChanged();
      return renamed;
    },

    /**
     * Hides it from all jobs accepted from now on. Its data stays until the deletion job that the caller queues next; an import accepted in
     * between no longer sees it. Null if there is none, or its deletion is already queued.
     */
    hide: (which: OneAttribute): Promise<AttributeDocument | null> =>
      inTransaction(async (session) => {
        const attribute = await attributes.findOne(
          { ...matching(which), deletedBy: { $exists: false } },
          { session },
        );
        if (!attribute || attribute.deletedSequence !== undefined) return attribute;
        const deletedSequence = await counters.takeAttributeSequences(1, session);
        await attributes.updateOne({ _id: attribute._id }, { $set: { deletedSequence } }, { session });
        return { ...attribute, deletedSequence };
      }),

    /** Records the job that deletes the data of a hidden attribute. */
    async deletionQueued(id: number, job: number): Promise<void> {
      await attributes.updateOne(
        { _id: id, deletedSequence: { $exists: true } },
        { $set: { deletedBy: job } },
      );
      await counters.visibilityChanged();
    },

    /** Null if there is none, or it is another partner's. Takes effect at once, also in existing reports. */
    async setVisibility(
      which: OneAttribute,
      visibility: 'public' | 'private',
    ): Promise<AttributeDocument | null> {
      const since = { $cond: ['$isPrivate', '$madePrivateAt', '$$NOW'] };
      const change =
        visibility === 'private'
          ? { $set: { isPrivate: true, madePrivateAt: since } }
          : { $unset: ['isPrivate', 'madePrivateAt'] };
      const filter = { ...matching(which), ...notDeleted };
      const before = await attributes.findOneAndUpdate(filter, [change], { returnDocument: 'before' });
      if (!before) return null;
      const isChanged = (before.isPrivate === true) !== (visibility === 'private');
      // Existing reports, outdated or not, filter attributes by the time they became private.
      if (isChanged) await counters.visibilityChanged();
      const { isPrivate: _, ...rest } = before;
      return visibility === 'private' ? { ...rest, isPrivate: true } : rest;
    },

    /** Attributes made private after this time, or shortly before it. */
    madePrivateSince: (time: Date): Promise<Pick<AttributeDocument, '_id' | 'partner'>[]> =>
      attributes
        .find({ madePrivateAt: { $gte: new Date(time.getTime() - MARGIN_MS) } })
        .project<Pick<AttributeDocument, '_id' | 'partner'>>({ partner: 1 })
        .toArray(),

    /** The keys that rows of the job may use: its partner's attributes at acceptance, by id or by foreign key. */
    async keysOf(job: JobDocument) {
      const { keyType, attributesAsOf } = job;
      const known = await attributes
        .find(seenBy(job))
        .project<AttributeDocument>({ foreignKey: 1, foreignKeySequence: 1 })
        .toArray();
      if (keyType === 0) return known.map(({ _id }) => ({ key: String(_id), attribute: _id }));
      return known
        .filter(({ foreignKeySequence = Number.POSITIVE_INFINITY }) => foreignKeySequence <= attributesAsOf)
        .map(({ _id, foreignKey }) => ({ key: foreignKey!, attribute: _id }));
    },

    /** The attributes of the keys, and the indexes of unknown keys. */
    async resolve(partner: string, keyType: 0 | 1, keys: string[]) {
      const found = new Map<string, number>();
      if (keyType === 0) {
        const ids = keys.filter((key) => /^[1-9]\d{0,14}$/.test(key)).map(Number);
        const cursor = attributes.find(
          { partner, _id: { $in: ids }, ...notDeleted },
          { projection: { _id: 1 } },
        );
        for await (const { _id } of cursor) found.set(String(_id), _id);
      } else {
        const cursor = attributes.find(
          { partner, foreignKey: { $in: keys }, ...notDeleted },
          { projection: { foreignKey: 1 } },
        );
        for await (const { _id, foreignKey } of cursor) found.set(foreignKey!, _id);
      }
      return {
        attributes: [...new Set(keys.map((key) => found.get(key)).filter((id) => id !== undefined))],
        unknown: keys.flatMap((key, index) => (found.has(key) ? [] : [index])),
      };
    },
  };
}
