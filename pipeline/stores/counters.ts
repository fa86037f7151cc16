/** Numbers that the processes share: the attributes' sequence, the partitions of `devices`, and the ends of leases. */
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
    /** The attributes that a job accepted now may see. */
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
     * How many partitions `devices` has is kept with the data: slots are dealt to partitions by their number, so a change would
     * part devices of jobs in flight from their markers, and two sinks would own one slot.
     */
    async keepPartitionCount(topic: string, count: number): Promise<void> {
      await counters.updateOne({ _id: PARTITIONS }, { $setOnInsert: { value: count } }, { upsert: true });
      const kept = (await counters.findOne({ _id: PARTITIONS }))?.value ?? count;
      if (kept !== count)
        throw new PartitionCountChanged(
          `topic ${topic} has ${count} partitions, but the data in MongoDB was written with ${kept}: make the topic again with ` +
            `HEADRACE_PARTITIONS=${kept}, or use another HEADRACE_TOPIC_PREFIX and HEADRACE_MONGO_DATABASE`,
        );
    },

    /** The value is the moment at which the lease ends, by the database's clock: those of the processes may be hours apart. */
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
        // Two that made it at the same moment: the other has it.
        if ((error as { code?: unknown }).code === 11000) return false;
        throw error;
      }
    },

    endLease: (_id: string, holder: string) => counters.updateOne({ _id, holder }, { $set: { value: 0 } }),
  };
}
