/** Numbers that the processes share: the attribute sequence, the number of `devices` partitions, leases. */
import type { ClientSession, Db } from 'mongodb';
import { type CounterDocument, collections } from '../../schemas/documents.ts';

export type CounterStore = ReturnType<typeof createCounterStore>;

export class PartitionCountChanged extends Error {
  readonly code = 'partition_count_changed';
}

const ATTRIBUTES = 'attributes';
const PARTITIONS = 'device partitions';

export function createCounterStore(db: Db) {
  const counters = db.collection<CounterDocument>(collections.counters);

  return {
    /** The last number given to an attribute or an association: what a job accepted now may see. */
    async attributeSequence(): Promise<number> {
      const counter = await counters.findOne({ _id: ATTRIBUTES }, { readConcern: { level: 'local' } });
      return counter?.value ?? 0;
    },

    async nextAttributeSequence(session: ClientSession): Promise<number> {
      const counter = await counters.findOneAndUpdate(
        { _id: ATTRIBUTES },
        { $inc: { value: 1 } },
        { upsert: true, returnDocument: 'after', session },
      );
      return counter!.value;
    },

    /**
     * The number of `devices` partitions is stored with the data and must not change: it decides in which partition a slot is.
     * After a change, markers would miss the devices of jobs in flight, and two sinks would own the same slot.
     */
    async keepPartitionCount(topic: string, count: number): Promise<void> {
      await counters.updateOne({ _id: PARTITIONS }, { $setOnInsert: { value: count } }, { upsert: true });
      const kept = (await counters.findOne({ _id: PARTITIONS }))?.value ?? count;
      if (kept !== count)
        throw new PartitionCountChanged(
          `topic ${topic} has ${count} partitions, but the data in MongoDB was written with ${kept}: recreate the topic with ` +
            `HEADRACE_PARTITIONS=${kept}, or use another HEADRACE_TOPIC_PREFIX and HEADRACE_MONGO_DATABASE`,
        );
    },

    /** The value is the time at which the lease ends, by the database's clock: those of the processes may differ. */
    async takeLease(_id: string, holder: string, leaseMs: number): Promise<boolean> {
      const now = { $toLong: '$$NOW' };
      const isFree = { $lt: [{ $ifNull: ['$value', 0] }, now] };
      const set = {
        holder: { $cond: [isFree, holder, '$holder'] },
        value: { $cond: [isFree, { $add: [now, leaseMs] }, '$value'] },
      };
      try {
        const options = { upsert: true, returnDocument: 'after' } as const;
        const lease = await counters.findOneAndUpdate({ _id }, [{ $set: set }], options);
        return lease?.holder === holder;
      } catch (error) {
        // Two upserts at the same moment: the other process has the lease.
        if ((error as { code?: unknown }).code === 11000) return false;
        throw error;
      }
    },

    endLease: (_id: string, holder: string) => counters.updateOne({ _id, holder }, { $set: { value: 0 } }),
  };
}
