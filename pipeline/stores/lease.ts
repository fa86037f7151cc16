/** A lease on something that one process does at a time. It is renewed while the work lasts; a process that dies loses it. */
import { randomUUID } from 'node:crypto';
import { linkedAbort } from '../runtime/deadline.ts';
import type { CounterStore } from './counters.ts';

export type Leases = Pick<CounterStore, 'takeLease' | 'renewLease' | 'endLease'>;

/** Another process has taken the lease. */
export class LeaseLost extends Error {}

export function createLease(leases: Leases, name: string, leaseMs: number) {
  const holder = randomUUID();
  /** A lease that cannot be ended runs out. */
  const end = async (): Promise<void> => void (await leases.endLease(name, holder).catch(() => {}));

  return {
    /** False if another process has it. */
    take: () => leases.takeLease(name, holder, leaseMs),
    end,

    /** Once it is taken: does the work, and ends the lease. The work's signal is aborted when the lease is lost, or with `until`. */
    async hold<T>(work: (signal: AbortSignal) => Promise<T>, until?: AbortSignal): Promise<T> {
      const { controller, unlink } = linkedAbort(until);
      const renew = async () => {
        // What fails is tried again in time.
        const isOurs = await leases.renewLease(name, holder, leaseMs).catch(() => true);
        if (!isOurs) controller.abort(new LeaseLost(`another process has the lease of ${name}`));
      };
      const timer = setInterval(renew, leaseMs / 3);
      try {
        return await work(controller.signal);
      } catch (error) {
        throw controller.signal.aborted ? controller.signal.reason : error;
      } finally {
        clearInterval(timer);
        unlink();
        await end();
      }
    },
  };
}
