/**
 * Numbers shared by all processes: the attribute sequence, the ends of jobs, the number of slots and of `devices` partitions, leases, and
 * the watermarks of retention and of recorded webhook events.
 */
import type { ClientSession, Db } from 'mongodb';
import { type CounterDocument, collections } from '../../schemas/documents.ts';
import { EVERYONE, type JobDocument } from '../../schemas/job-documents.ts';
import { DEFAULT_SLOTS } from '../../schemas/topics.ts';
import { groupBy } from '../runtime/collections.ts';
import { StartRefused } from '../runtime/errors.ts';

export type CounterStore = ReturnType<typeof createCounterStore>;

const ATTRIBUTES = 'attributes';
const PARTITIONS = 'device partitions';
const SLOTS = 'slots';
/** Watermark: webhook events are recorded up to this end. */
const RECORDED = 'webhook events recorded up to';

/** Watermarks of retention: history is removed up to this job. */
export const removedUpTo = { jobs: 'jobs removed up to', rejects: 'rejects removed up to' } as const;

const ENDS = 'jobs ended';
const MARKETPLACE = 'jobs of the marketplace ended';
const loadsOf = (partner: string) => `loads ended of ${partner}`;

type ChangingJob = Pick<JobDocument, 'kind' | 'partner'>;
/** The device sets that a job changes: attributes, or the partner's audiences; a privacy request changes both. */
function changedBy({ kind, partner }: ChangingJob): string[] {
  if (kind === 'audience') return [loadsOf(partner)];
  return kind === 'privacy' ? [MARKETPLACE, loadsOf(partner)] : [MARKETPLACE];
}

const now = { $toLong: '$$NOW' };
const DAY_MS = 86_400_000;
const leaseFor = (leaseMs: number) => ({
  value: { $add: [now, leaseMs] },
  expiresAt: { $add: ['$$NOW', leaseMs + DAY_MS] },
});
/** Number of changes to the visibility of attributes. */
const VISIBILITY = 'attribute visibility';

export function createCounterStore(db: Db) {
  const counters = db.collection<CounterDocument>(collections.counters);

  const slotCount = async (): Promise<number> =>
    (await counters.findOne({ _id: SLOTS }))?.value ?? DEFAULT_SLOTS;

  /** Takes `count` consecutive numbers and returns the first. */
  async function take(_id: string, count = 1, session?: ClientSession): Promise<number> {
    const counter = await counters.findOneAndUpdate(
      { _id },
      { $inc: { value: count } },
      { upsert: true, returnDocument: 'after', session },
    );
    return counter!.value - count + 1;
  }

  return {
    /** The last number of an attribute or an association: a job accepted now sees everything up to it. */
    async attributeSequence(): Promise<number> {
      const counter = await counters.findOne({ _id: ATTRIBUTES }, { readConcern: { level: 'local' } });
      return counter?.value ?? 0;
    },

    /** Takes `count` consecutive numbers and returns the first. */
    takeAttributeSequences: (count: number, session: ClientSession) => take(ATTRIBUTES, count, session),
    take: (of: 'webhooks' | 'deliveries' | 'digest edits' | 'dry runs', count = 1) => take(of, count),

    /**
     * Numbers the ends of jobs consecutively and counts them by the device sets they change. Runs in the transaction that ends the jobs, so
     * a visible number implies that all ends up to it are visible. Returns the first number.
     */
    async addEnds(jobs: ChangingJob[], session: ClientSession): Promise<number> {
      if (jobs.length === 0) return 0;
      const first = await take(ENDS, jobs.length, session);
      const updates = [...groupBy(jobs.flatMap(changedBy), (name) => name)].map(([_id, { length }]) => ({
        updateOne: { filter: { _id }, update: { $inc: { value: length } }, upsert: true },
      }));
      await counters.bulkWrite(updates, { session });
      return first;
    },

    /** Number of ended jobs, which is the number of the last end. */
    countEnds: async (session?: ClientSession): Promise<number> =>
      (await counters.findOne({ _id: ENDS }, { session }))?.value ?? 0,

    /** Number of ended jobs that change attributes, and of ended loads of the partner. */
    async endsChanging(partner: string): Promise<{ marketplace: number; loads: number }> {
      const loads = [loadsOf(partner), loadsOf(EVERYONE)];
      const found = await counters.find({ _id: { $in: [MARKETPLACE, ...loads] } }).toArray();
      const countOf = (id: string) => found.find(({ _id }) => _id === id)?.value ?? 0;
      return {
        marketplace: countOf(MARKETPLACE),
        loads: loads.reduce((sum, id) => sum + countOf(id), 0),
      };
    },

    visibility: async (): Promise<number> => (await counters.findOne({ _id: VISIBILITY }))?.value ?? 0,
    visibilityChanged: () =>
      counters.updateOne({ _id: VISIBILITY }, { $inc: { value: 1 } }, { upsert: true }),

    async recordedUpTo(session?: ClientSession): Promise<{ end: number; version: number }> {
      const counter = await counters.findOne({ _id: RECORDED }, { session });
      return { end: counter?.value ?? 0, version: counter?.version ?? 0 };
    },

    /** False if webhooks have changed since the version was read: some may lack events. */
    async moveRecorded(version: number, end: number): Promise<boolean> {
      const moved = await counters.updateOne({ _id: RECORDED, version }, { $max: { value: end } });
      return moved.matchedCount === 1;
    },

    /** Call it after changing webhooks: events recorded from then on include them. */
    webhooksChanged: () =>
      counters.updateOne({ _id: RECORDED }, { $inc: { version: 1 }, $max: { value: 0 } }, { upsert: true }),

    /**
     * The number of `devices` partitions is stored with the data and must not change, because it maps slots to partitions. After a change,
     * markers would miss the devices of jobs in flight, and two sinks would own the same slot.
     */
    async keepPartitionCount(topic: string, count: number): Promise<void> {
      const slots = await slotCount();
      // A partition without a slot would never vote.
      if (count > slots)
        throw new StartRefused(
          `topic ${topic} has ${count} partitions, more than there are slots (HEADRACE_SLOTS=${slots}): recreate it with ${slots} or less`,
        );
      await counters.updateOne({ _id: PARTITIONS }, { $setOnInsert: { value: count } }, { upsert: true });
      const kept = (await counters.findOne({ _id: PARTITIONS }))?.value ?? count;
      if (kept !== count)
        throw new StartRefused(
          `topic ${topic} has ${count} partitions, but the data in MongoDB was written with ${kept}: recreate the topic with ` +
            `HEADRACE_PARTITIONS=${kept}, or use another HEADRACE_TOPIC_PREFIX and HEADRACE_MONGO_DATABASE`,
        );
    },

    /** The number of slots is stored with the data at the first start and must not change, because it maps devices to slots. */
    async keepSlotCount(count: number): Promise<void> {
      await counters.updateOne({ _id: SLOTS }, { $setOnInsert: { value: count } }, { upsert: true });
      const kept = (await counters.findOne({ _id: SLOTS }))!.value;
      if (kept !== count)
        throw new StartRefused(
          `HEADRACE_SLOTS: the data in MongoDB was written with ${kept} slots, not ${count}: set it to ${kept}, or load the files ` +
            'again with another HEADRACE_TOPIC_PREFIX and HEADRACE_MONGO_DATABASE',
        );
    },

    slotCount,

    /** Number of partitions the data was written with; undefined if there is no data. */
    partitionCount: async (): Promise<number | undefined> =>
      (await counters.findOne({ _id: PARTITIONS }))?.value,

    /** Watermarks by name, which never decrease. Unknown ones are 0. */
    async highest(names: string[]): Promise<number[]> {
      const found = await counters.find({ _id: { $in: names } }).toArray();
      const values = new Map(found.map(({ _id, value }) => [_id, value]));
      return names.map((name) => values.get(name) ?? 0);
    },

    raise: (numbers: Map<string, number>) =>
      counters.bulkWrite(
        [...numbers].map(([_id, value]) => ({
          updateOne: { filter: { _id }, update: { $max: { value } }, upsert: true },
        })),
        { ordered: false },
      ),

    /** `value` is the expiry of the lease on the database's clock, because clocks of processes may differ. */
    async takeLease(_id: string, holder: string, leaseMs: number): Promise<boolean> {
      const isFree = { $lt: [{ $ifNull: ['$value', 0] }, now] };
      const { value, expiresAt } = leaseFor(leaseMs);
      const set = {
        holder: { $cond: [isFree, holder, '$holder'] },
        value: { $cond: [isFree, value, '$value'] },
        expiresAt: { $cond: [isFree, expiresAt, '$expiresAt'] },
      };
      try {
        const options = { upsert: true, returnDocument: 'after' } as const;
        const lease = await counters.findOneAndUpdate({ _id }, [{ $set: set }], options);
        return lease?.holder === holder;
      } catch (error) {
        // Concurrent upserts: the other process has the lease.
        if ((error as { code?: unknown }).code === 11000) return false;
        throw error;
      }
    },

    /** False if another process has taken it. */
    async renewLease(_id: string, holder: string, leaseMs: number): Promise<boolean> {
      const renewed = await counters.updateOne({ _id, holder }, [{ $set: leaseFor(leaseMs) }]);
      return renewed.matchedCount === 1;
    },

    endLease: (_id: string, holder: string) => counters.deleteOne({ _id, holder }),
  };
}
