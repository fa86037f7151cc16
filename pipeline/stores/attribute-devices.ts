/**
 * Number of devices by attribute. Many attributes share a document, because a job may change tens of thousands; each document carries the
 * last job of each partner that it includes. A partner's jobs end in order, so recording a job again changes nothing.
 */
import type { AnyBulkWriteOperation, Db } from 'mongodb';
import { type Additions, type AttributeDevicesDocument, collections } from '../../schemas/documents.ts';
import { groupBy } from '../runtime/collections.ts';
import { inGroups, within } from '../runtime/in-groups.ts';

/**
 * Devices that a job added to or removed from attributes; 0 if several jobs shared a merge and the last of them has the count. Jobs of
 * several lanes may change an attribute in any order, so counts are incremented, never set.
 */
export interface AttributeChange {
  job: number;
  partner: string;
  added: Map<number, number>;
  /** Imports only: when it was accepted. */
  importedAt?: Date;
  /** Deletions only: no devices are left in these attributes. */
  isEmptied?: boolean;
}

type Operation = AnyBulkWriteOperation<AttributeDevicesDocument>;

const ATTRIBUTES_A_DOCUMENT = 100;
const WRITE_AT_ONCE = 5_000;
const documentOf = (attribute: number) => Math.floor(attribute / ATTRIBUTES_A_DOCUMENT);
const removed = () => '' as const;
const those = (attributes: number[]) => ({ _id: { $in: [...new Set(attributes.map(documentOf))] } });

export function createAttributeDeviceStore(db: Db) {
  const documents = db.collection<AttributeDevicesDocument>(collections.attributeDevices);

  /** An update must be able to tell a missing document from one that already includes the job. */
  const ensure = (_id: number): Operation => {
    const update = { $setOnInsert: { jobs: {}, devices: {} } };
    return { updateOne: { filter: { _id }, update, upsert: true } };
  };

  function apply({ job, partner, added, importedAt, isEmptied }: AttributeChange): Operation[] {
    const last = `jobs.${partner}`;
    return [...groupBy(added, ([attribute]) => documentOf(attribute))].map(([_id, counts]) => {
      const fields = <T>(name: string, of: [number, number][], toValue: (count: number) => T) =>
        Object.fromEntries(of.map(([attribute, count]) => [`${name}.${attribute}`, toValue(count)]));
      const grown = importedAt ? counts : [];
      const addition = () => ({ job, at: importedAt! });
      const update = {
        $inc: fields('devices', counts, (count) => count),
        $set: { [last]: job, ...fields('last', grown, addition) },
        // Only imports of its owner add to an attribute, and these end in order.
        ...(grown.length > 0 ? { $min: fields('first', grown, addition) } : {}),
        ...(isEmptied
          ? { $unset: { ...fields('first', counts, removed), ...fields('last', counts, removed) } }
          : {}),
      };
      const filter = { _id, [last]: { $not: { $gte: job } } };
      return { updateOne: { filter, update } };
    });
  }

  async function read(found: AsyncIterable<AttributeDevicesDocument>): Promise<Map<number, number>> {
    const counts = new Map<number, number>();
    for await (const { devices } of found) {
      for (const [attribute, count] of Object.entries(devices))
        if (count > 0) counts.set(Number(attribute), count);
    }
    return counts;
  }

  return {
    /** In the order given. Safe to repeat after an interruption. */
    async record(changes: AttributeChange[]): Promise<void> {
      const touched = new Set(changes.flatMap(({ added }) => [...added.keys()]).map(documentOf));
      const operations = [...[...touched].map(ensure), ...changes.flatMap(apply)];
      for (const group of inGroups(operations, within({ count: WRITE_AT_ONCE })))
        await documents.bulkWrite(group, { ordered: true });
    },

    /** May include other attributes from the same documents. */
    of: (attributes: number[]) => read(documents.find(those(attributes), { projection: { devices: 1 } })),

    /** The first and the last import that added devices to each attribute since it was last emptied. */
    async additionsTo(attributes: number[]): Promise<Map<number, Additions>> {
      const additions = new Map<number, Additions>();
      for await (const { first, last } of documents.find(those(attributes)))
        for (const attribute of attributes)
          if (first?.[attribute] && last?.[attribute])
            additions.set(attribute, { first: first[attribute], last: last[attribute] });
      return additions;
    },
  };
}
