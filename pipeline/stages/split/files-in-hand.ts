/**
 * Files that cannot be resumed in the middle: the process that started one finishes it, even if its partition is reassigned. A lease
 * makes the new owner wait; if the reader dies, the lease expires and the new owner starts the file over. Two readers at once, as after a
 * long pause of the first, are harmless: they cut the same batches, and the ledger counts each once.
 */
import type { Logger } from '../../runtime/log.ts';
import { createLease, LeaseLost, type Leases } from '../../stores/lease.ts';
import type { SplitStep } from './steps.ts';

interface FileInHand {
  /** Identifies the file across threads and processes. */
  name: string;
  /** False once the file is no longer wanted. */
  isWanted(): Promise<boolean>;
  read(step: SplitStep): Promise<void>;
}

interface Dependencies {
  log: Logger;
  counters: Leases;
  leaseMs: number;
}

const WAIT_MS = 1_000;

export function createFilesInHand({ log, counters, leaseMs }: Dependencies) {
  const stopping = new AbortController();
  const inHand = new Map<string, Promise<void>>();

  return {
    /** Resolves when the file is read to its end, by this process or another. If the step ends first, reading continues. */
    async finish(file: FileInHand, step: SplitStep): Promise<void> {
      for (;;) {
        const lease = createLease(counters, `file ${file.name}`, leaseMs);
        if (!inHand.has(file.name) && (await step.read('take the lease', lease.take))) {
          const reading = lease
            .hold((signal) => file.read(step.until(signal)), stopping.signal)
            .finally(() => inHand.delete(file.name));
          // Also awaited below, while the delivery lasts.
          reading.catch((error) =>
            log.debug({ err: error, file: file.name }, 'a file in hand was not finished'),
          );
          inHand.set(file.name, reading);
        }
        const reading = inHand.get(file.name);
        try {
          if (reading) return await unlessAborted(reading, step.signal);
        } catch (error) {
          if (!(error instanceof LeaseLost)) throw error;
        }
        await step.pause(WAIT_MS);
        if (!(await step.read('check whether the file is wanted', file.isWanted))) return;
      }
    },

    async stop(): Promise<void> {
      stopping.abort(new Error('stopping'));
      await Promise.allSettled(inHand.values());
    },
  };
}

/** Rejects when the signal is aborted; the work continues. */
function unlessAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
