/**
 * How many devices each attribute has. Many attributes share a document, because a job may change tens of thousands of them; each document
 * carries the last job of each partner that it includes. A partner's jobs end in their order, so one that is recorded again changes nothing.
 */
import type { AnyBulkWriteOperation, Db } from 'mongodb';
import { type Additions, type AttributeDevicesDocument, collections } from '../../schemas/documents.ts';
import { groupBy } from '../runtime/collections.ts';
import { inGroups, within } from '../runtime/in-groups.ts';

/**
 * Devices that a job added to attributes, or removed; 0 if jobs were merged together and the count is with the last of them. Jobs of
 * several lanes change an attribute, in any order, so none sets a count.
 */
export interface AttributeChange {
  job: number;
  partner: string;
  added: Map<number, number>;
  /** Of an import: when it was accepted. */
  importedAt?: Date;
  /** Of a deletion: nothing is left of these attributes. */
  isEmptied?: boolean;
}

type Operation = AnyBulkWriteOperation<AttributeDevicesDocument>;

const ATTRIBUTES_A_DOCUMENT = 100;
const WRITE_AT_ONCE = 5_000;
const documentOf = (attribute: number) => Math.floor(attribute / ATTRIBUTES_A_DOCUMENT);
const removed = () => '' as const;
const those = (attributes: number[]) => ({ _id: { $in: [...new Set(attributes.map(documentOf))] } });

export type AttributeDeviceStore = ReturnType<typeof createAttributeDeviceStore>;

export function createAttributeDeviceStore(db: Db) {
  const documents = db.collection<AttributeDevicesDocument>(collections.attributeDevices);

  /** So that an update finds it, or finds that it is later than its job. */
  const ensure = (_id: number): Operation => {
    const update = { $setOnInsert: { jobs: {}, devices: {} } };
    return { updateOne: { filter: { _id }, update, upsert: true } };
  };

  function apply({ job, partner, added, importedAt, isEmptied }: AttributeChange): Operation[] {
    const last = `jobs.${partner}`;
    return [...groupBy(added, ([attribute]) => documentOf(attribute))].map(([_id, some]) => {
      const fields = <T>(name: string, of: [number, number][], toValue: (count: number) => T) =>
        Object.fromEntries(of.map(([attribute, count]) => [`${name}.${attribute}`, toValue(count)]));
      const grown = importedAt ? some : [];
      const addition = () => ({ job, at: importedAt! });
      const update = {
        $inc: fields('devices', some, (count) => count),
        $set: { [last]: job, ...fields('last', grown, addition) },
        // By their jobs: only imports of its owner add to an attribute, in their order.
        ...(grown.length > 0 ? { $min: fields('first', grown, addition) } : {}),
        ...(isEmptied
          ? { $unset: { ...fields('first', some, removed), ...fields('last', some, removed) } }
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
    /** In the order given. Interrupted, it is simply done again. */
    async record(changes: AttributeChange[]): Promise<void> {
      const touched = new Set(changes.flatMap(({ added }) => [...added.keys()]).map(documentOf));
      const operations = [...[...touched].map(ensure), ...changes.flatMap(apply)];
      for (const some of inGroups(operations, within({ count: WRITE_AT_ONCE })))
        await documents.bulkWrite(some, { ordered: true });
    },

    /** Of these attributes and some others. */
    of: (attributes: number[]) => read(documents.find(those(attributes), { projection: { devices: 1 } })),

    /** The first and the last import that added devices to these attributes, since they were last emptied. */
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
