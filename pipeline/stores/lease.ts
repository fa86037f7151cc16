/** A lease on work that one process does at a time. It is renewed during the work and expires if the process dies. */
import { randomUUID } from 'node:crypto';
import { linkedAbort } from '../runtime/deadline.ts';
import type { CounterStore } from './counters.ts';

export type Leases = Pick<CounterStore, 'takeLease' | 'renewLease' | 'endLease'>;

/** Another process has taken the lease. */
export class LeaseLost extends Error {}

export function createLease(leases: Leases, name: string, leaseMs: number) {
  const holder = randomUUID();
  /** If this fails, the lease expires. */
  const end = async (): Promise<void> => void (await leases.endLease(name, holder).catch(() => {}));

  return {
    /** False if another process has it. */
    take: () => leases.takeLease(name, holder, leaseMs),
    end,

    /** After `take`: does the work and ends the lease. The work's signal is aborted when the lease is lost, or with `until`. */
    async hold<T>(work: (signal: AbortSignal) => Promise<T>, until?: AbortSignal): Promise<T> {
      const { controller, unlink } = linkedAbort(until);
      const renew = async () => {
        // A failed renewal is repeated before the lease expires.
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
