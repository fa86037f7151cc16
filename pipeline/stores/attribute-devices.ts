/**
 * How many devices each attribute has. Many attributes share a document, because a job may change tens of thousands of them; each document
 * carries the last job of each partner that it includes. A partner's jobs end in their order, so one that is recorded again changes nothing.
 */
import type { AnyBulkWriteOperation, Db } from 'mongodb';
import { type AttributeDevicesDocument, collections } from '../../schemas/documents.ts';
import { groupBy } from '../runtime/collections.ts';
import { inGroups, within } from '../runtime/in-groups.ts';

/** What a job changed: devices added by attribute, or removed. Jobs of several lanes change an attribute, in any order, so none sets a count. */
export interface AttributeChange {
  job: number;
  partner: string;
  added: Map<number, number>;
}

type Operation = AnyBulkWriteOperation<AttributeDevicesDocument>;

const ATTRIBUTES_A_DOCUMENT = 100;
const WRITE_AT_ONCE = 5_000;
const documentOf = (attribute: number) => Math.floor(attribute / ATTRIBUTES_A_DOCUMENT);
const field = (attribute: number) => `devices.${attribute}`;

export function createAttributeDeviceStore(db: Db) {
  const documents = db.collection<AttributeDevicesDocument>(collections.attributeDevices);

  /** So that an update finds it, or finds that it is later than its job. */
  const ensure = (_id: number): Operation => {
    const update = { $setOnInsert: { jobs: {}, devices: {} } };
    return { updateOne: { filter: { _id }, update, upsert: true } };
  };

  function apply({ job, partner, added }: AttributeChange): Operation[] {
    const last = `jobs.${partner}`;
    return [...groupBy(added, ([attribute]) => documentOf(attribute))].map(([_id, some]) => {
      const $inc = Object.fromEntries(some.map(([attribute, count]) => [field(attribute), count]));
      const filter = { _id, [last]: { $not: { $gte: job } } };
      return { updateOne: { filter, update: { $inc, $set: { [last]: job } } } };
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
    of: (attributes: number[]) =>
      read(documents.find({ _id: { $in: [...new Set(attributes.map(documentOf))] } })),
  };
}
