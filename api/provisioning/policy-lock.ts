/** The bucket's policy is one document for all partners: whoever changes it has it alone, or dies and loses it. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from 'mongodb';
import { type CounterDocument, collections } from '../../schemas/documents.ts';

export type Exclusive = <T>(work: () => Promise<T>) => Promise<T>;

const LEASE_MS = 30_000;
const PATIENCE_MS = 60_000;
const _id = 'lock:storage-policy';

export function createPolicyLock(db: Db): Exclusive {
  const locks = db.collection<CounterDocument>(collections.counters);

  /** The value is the moment at which the lease ends. */
  async function take(): Promise<number | undefined> {
    const until = Date.now() + LEASE_MS + Math.random();
    try {
      await locks.updateOne(
        { _id, value: { $lt: Date.now() } },
        { $set: { value: until } },
        { upsert: true },
      );
      return until;
    } catch (error) {
      // Nothing matched, so the upsert tried to make what is already there: somebody else has it.
      if ((error as { code?: unknown }).code === 11000) return undefined;
      throw error;
    }
  }

  return async (work) => {
    const giveUp = Date.now() + PATIENCE_MS;
    let lease = await take();
    while (lease === undefined) {
      if (Date.now() > giveUp) throw new Error('the storage policy stays locked by another process');
      await sleep(50 + Math.random() * 100);
      lease = await take();
    }
    try {
      return await work();
    } finally {
      await locks.updateOne({ _id, value: lease }, { $set: { value: 0 } });
    }
  };
}
