/**
 * How many partitions `devices` has is kept with the data: slots are dealt to partitions by their number, so a change would part
 * devices of jobs in flight from their markers, and two sinks would own one slot.
 */
import type { Db } from 'mongodb';
import { type CounterDocument, collections } from '../../schemas/documents.ts';

export class PartitionCountChanged extends Error {
  readonly code = 'partition_count_changed';
}

const _id = 'device partitions';

export async function keepPartitionCount(db: Db, topic: string, count: number): Promise<void> {
  const counters = db.collection<CounterDocument>(collections.counters);
  await counters.updateOne({ _id }, { $setOnInsert: { value: count } }, { upsert: true });
  const kept = (await counters.findOne({ _id }))?.value ?? count;
  if (kept !== count)
    throw new PartitionCountChanged(
      `topic ${topic} has ${count} partitions, but the data in MongoDB was written with ${kept}: make the topic again with ` +
        `HEADRACE_PARTITIONS=${kept}, or use another HEADRACE_TOPIC_PREFIX and HEADRACE_MONGO_DATABASE`,
    );
}
