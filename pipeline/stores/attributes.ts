/**
 * Attributes and their foreign keys. Each creation and each association takes the next number of one sequence; a job sees
 * what had a number when it was accepted, so that reading its files again gives the same rows again.
 */
import type { ClientSession, Db } from 'mongodb';
import { type AttributeDocument, type CounterDocument, collections } from '../../schemas/documents.ts';
import { findPartner, ProvisioningError } from './partners.ts';

const attributes = (db: Db) => db.collection<AttributeDocument>(collections.attributes);
const counters = (db: Db) => db.collection<CounterDocument>(collections.counters);

/** What a job accepted now may see. */
export async function currentSequence(db: Db): Promise<number> {
  const counter = await counters(db).findOne({ _id: 'attributes' }, { readConcern: { level: 'local' } });
  return counter?.value ?? 0;
}

async function nextSequence(db: Db, session: ClientSession): Promise<number> {
  const counter = await counters(db).findOneAndUpdate(
    { _id: 'attributes' },
    { $inc: { value: 1 } },
    { upsert: true, returnDocument: 'after', session },
  );
  return counter!.value;
}

export function checkForeignKey(key: string): void {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (!/^[^\u0000-\u001f\u007f]+$/.test(key) || key.trim() !== key || Buffer.byteLength(key) > 256)
    throw new ProvisioningError(
      'bad_argument',
      'a foreign key has 1 to 256 bytes, no control character, and no space at its ends',
    );
}

const isDuplicate = (error: unknown) => (error as { code?: unknown }).code === 11000;
const taken = (key: string, cause: unknown) =>
  new ProvisioningError('foreign_key_taken', `another attribute of this partner has the foreign key ${key}`, {
    cause,
  });

/** Number and document appear together: a job can never be accepted with a number whose attribute is still to come. */
export async function createAttribute(
  db: Db,
  { partner, name, foreignKey }: { partner: string; name: string; foreignKey?: string },
): Promise<AttributeDocument> {
  if (name.trim() === '' || name.length > 256)
    throw new ProvisioningError('bad_argument', 'an attribute’s name has 1 to 256 characters');
  if (foreignKey !== undefined) checkForeignKey(foreignKey);
  await findPartner(db, partner);
  try {
    return await db.client.withSession((session) =>
      session.withTransaction(async () => {
        const sequence = await nextSequence(db, session);
        const attribute: AttributeDocument = {
          _id: sequence,
          partner,
          name,
          sequence,
          ...(foreignKey === undefined ? {} : { foreignKey, foreignKeySequence: sequence }),
          createdAt: new Date(),
        };
        await attributes(db).insertOne(attribute, { session });
        return attribute;
      }),
    );
  } catch (error) {
    throw isDuplicate(error) && foreignKey !== undefined ? taken(foreignKey, error) : error;
  }
}

export async function associateForeignKey(
  db: Db,
  id: number,
  foreignKey: string,
): Promise<AttributeDocument> {
  checkForeignKey(foreignKey);
  try {
    return await db.client.withSession((session) =>
      session.withTransaction(async () => {
        const attribute = await attributes(db).findOne({ _id: id }, { session });
        if (!attribute) throw new ProvisioningError('unknown_attribute', `there is no attribute ${id}`);
        if (attribute.foreignKey !== undefined)
          throw new ProvisioningError(
            'already_associated',
            `attribute ${id} has the foreign key ${attribute.foreignKey}; an association is for good`,
          );
        const foreignKeySequence = await nextSequence(db, session);
        await attributes(db).updateOne(
          { _id: id },
          { $set: { foreignKey, foreignKeySequence } },
          { session },
        );
        return { ...attribute, foreignKey, foreignKeySequence };
      }),
    );
  } catch (error) {
    throw isDuplicate(error) ? taken(foreignKey, error) : error;
  }
}

export const listAttributes = (db: Db, partner: string): Promise<AttributeDocument[]> =>
  attributes(db).find({ partner }).sort({ _id: 1 }).toArray();

/** Which attributes the keys of a deletion name, and which keys are not the partner's. */
export async function resolveKeys(
  db: Db,
  partner: string,
  keyType: 0 | 1,
  keys: string[],
): Promise<{ attributes: number[]; unknown: number[] }> {
  const found = new Map<string, number>();
  if (keyType === 0) {
    const ids = keys.filter((key) => /^[1-9]\d{0,14}$/.test(key)).map(Number);
    const cursor = attributes(db).find({ partner, _id: { $in: ids } }, { projection: { _id: 1 } });
    for await (const { _id } of cursor) found.set(String(_id), _id);
  } else {
    const cursor = attributes(db).find(
      { partner, foreignKey: { $in: keys } },
      { projection: { _id: 1, foreignKey: 1 } },
    );
    for await (const { _id, foreignKey } of cursor) found.set(foreignKey!, _id);
  }
  return {
    attributes: [...new Set(keys.map((key) => found.get(key)).filter((id) => id !== undefined))],
    unknown: keys.flatMap((key, index) => (found.has(key) ? [] : [index])),
  };
}
