/**
 * The ends of jobs: numbered one after the other, and counted by the device sets that they change. Both in the transaction that ends the
 * jobs, so a number that is seen comes with all ends up to it.
 */
import type { ClientSession, Db } from 'mongodb';
import { type CounterDocument, collections, EVERYONE, type JobDocument } from '../../../schemas/documents.ts';
import { groupBy } from '../../runtime/collections.ts';

type ChangingJob = Pick<JobDocument, 'kind' | 'partner'>;

const ENDS = 'jobs ended';
const MARKETPLACE = 'jobs of the marketplace ended';
const loadsOf = (partner: string) => `loads ended of ${partner}`;
/** The sets that a job changes: attributes, or audiences of the partner; a privacy request changes both. */
function changedBy({ kind, partner }: ChangingJob): string[] {
  if (kind === 'audience') return [loadsOf(partner)];
  return kind === 'privacy' ? [MARKETPLACE, loadsOf(partner)] : [MARKETPLACE];
}

export function createEndCounters(db: Db) {
  const counters = db.collection<CounterDocument>(collections.counters);

  return {
    /** Gives the number of the last of these ends. */
    async add(jobs: ChangingJob[], session: ClientSession): Promise<number> {
      const upsert = { upsert: true, session };
      const total = await counters.findOneAndUpdate(
        { _id: ENDS },
        { $inc: { value: jobs.length } },
        { ...upsert, returnDocument: 'after' },
      );
      const updates = [...groupBy(jobs.flatMap(changedBy), (name) => name)].map(([_id, some]) => ({
        updateOne: { filter: { _id }, update: { $inc: { value: some.length } }, upsert: true },
      }));
      await counters.bulkWrite(updates, { session });
      return total!.value;
    },

    /** How many jobs have ended: the number of the last end. */
    count: async (session?: ClientSession): Promise<number> =>
      (await counters.findOne({ _id: ENDS }, { session }))?.value ?? 0,

    /** How many jobs have ended that change attributes, and loads of the partner. */
    async changing(partner: string): Promise<{ marketplace: number; loads: number }> {
      const loads = [loadsOf(partner), loadsOf(EVERYONE)];
      const found = await counters.find({ _id: { $in: [MARKETPLACE, ...loads] } }).toArray();
      const countOf = (id: string) => found.find(({ _id }) => _id === id)?.value ?? 0;
      return {
        marketplace: countOf(MARKETPLACE),
        loads: loads.reduce((sum, id) => sum + countOf(id), 0),
      };
    },
  };
}
