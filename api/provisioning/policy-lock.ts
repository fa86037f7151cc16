/** The bucket policy is one document for all partners, so changing it takes a lock. It is a lease: a dead process loses it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createLease, type Leases } from '../../pipeline/stores/lease.ts';

export type Exclusive = <T>(work: () => Promise<T>) => Promise<T>;

const LEASE_MS = 30_000;
const PATIENCE_MS = 60_000;
const LOCK = 'lock:storage-policy';

export function createPolicyLock(counters: Leases): Exclusive {
  return async (work) => {
    const lease = createLease(counters, LOCK, LEASE_MS);
    const giveUp = performance.now() + PATIENCE_MS;
    while (!(await lease.take())) {
      if (performance.now() > giveUp)
        throw new Error('timed out waiting for the lock of the bucket policy, which another process holds');
      await sleep(50 + Math.random() * 100);
    }
    return lease.hold(work);
  };
}
