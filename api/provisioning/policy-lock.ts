/** The bucket policy is one document for all partners, so changing it takes a lock. It is a lease: a dead process loses it. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CounterStore } from '../../pipeline/stores/counters.ts';

export type Exclusive = <T>(work: () => Promise<T>) => Promise<T>;

const LEASE_MS = 30_000;
const PATIENCE_MS = 60_000;
const LOCK = 'lock:storage-policy';

export function createPolicyLock(counters: CounterStore): Exclusive {
  return async (work) => {
    const holder = randomUUID();
    const giveUp = performance.now() + PATIENCE_MS;
    while (!(await counters.takeLease(LOCK, holder, LEASE_MS))) {
      if (performance.now() > giveUp)
        throw new Error('timed out waiting for another process that holds the lock of the bucket policy');
      await sleep(50 + Math.random() * 100);
    }
    try {
      return await work();
    } finally {
      await counters.endLease(LOCK, holder);
    }
  };
}
