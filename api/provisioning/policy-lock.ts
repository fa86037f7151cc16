/** The bucket's policy is one document for all partners: whoever changes it has it alone, or dies and loses it. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from 'mongodb';
import { type CounterDocument, collections } from '../../schemas/documents.ts';

export type Exclusive = <T>(work: () => Promise<T>) => Promise<T>;

const LEASE_MS = 30_000;
const PATIENCE_MS = 60_000;
const _id = 'lock:storage-policy';

export function createPolicyLock(db: Db): Exclusive {
  const locks = db.collection<CounterDocument & { holder?: string }>(collections.counters);

  /** The value is the moment at which the lease ends, by the database's clock: those of the processes may be hours apart. */
  async function take(holder: string): Promise<boolean> {
    const now = { $toLong: '$$NOW' };
    const isFree = { $lt: [{ $ifNull: ['$value', 0] }, now] };
    const until = { $add: [now, LEASE_MS] };
    const set = {
      holder: { $cond: [isFree, holder, '$holder'] },
      value: { $cond: [isFree, until, '$value'] },
    };
    try {
      const lock = await locks.findOneAndUpdate({ _id }, [{ $set: set }], {
        upsert: true,
        returnDocument: 'after',
      });
      return lock?.holder === holder;
    } catch (error) {
      // Two that made it at the same moment: the other has it.
      if ((error as { code?: unknown }).code === 11000) return false;
      throw error;
    }
  }

  return async (work) => {
    const holder = randomUUID();
    const giveUp = performance.now() + PATIENCE_MS;
    while (!(await take(holder))) {
      if (performance.now() > giveUp) throw new Error('the storage policy stays locked by another process');
      await sleep(50 + Math.random() * 100);
    }
    try {
      return await work();
    } finally {
      await locks.updateOne({ _id, holder }, { $set: { value: 0 } });
    }
  };
}
