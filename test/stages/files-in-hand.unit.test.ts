/** The thread that began a file finishes it. The leases imitate MongoDB's, which test/stores/counters covers. */
import { expect, it } from 'vitest';
import { createRetry } from '../../pipeline/engine/retry.ts';
import { createStep, type Step } from '../../pipeline/engine/step.ts';
import { createLogger } from '../../pipeline/runtime/log.ts';
import { createFilesInHand } from '../../pipeline/stages/split/files-in-hand.ts';
import { eventually } from '../support/eventually.ts';

const log = createLogger({ logLevel: 'silent' }, 'test');
const retry = createRetry(log);

/** Leases that never expire; the test revokes them. */
function createLeases() {
  const holders = new Map<string, string>();
  return {
    holders,
    async takeLease(id: string, holder: string) {
      if (!holders.has(id)) holders.set(id, holder);
      return holders.get(id) === holder;
    },
    renewLease: async (id: string, holder: string) => holders.get(id) === holder,
    async endLease(id: string, holder: string) {
      if (holders.get(id) === holder) holders.delete(id);
      return { acknowledged: true, deletedCount: 1 };
    },
  };
}

/** A thread that reads one file until the test ends the read. */
function createThread(counters: ReturnType<typeof createLeases>) {
  const inHand = createFilesInHand({ log, counters, leaseMs: 30 });
  let reads = 0;
  let isWanted = true;
  let end: (error?: Error) => void = () => {};
  const file = {
    name: '7.0.3',
    isWanted: async () => isWanted,
    read: ({ signal }: Step) =>
      new Promise<void>((resolve, reject) => {
        reads++;
        end = (error) => (error ? reject(error) : resolve());
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      }),
  };
  return {
    /** A delivery, which is aborted with its assignment. */
    deliver(assignment = new AbortController()) {
      return inHand.finish(file, createStep('split', retry, assignment.signal));
    },
    reads: () => reads,
    end: (error?: Error) => end(error),
    forget: () => {
      isWanted = false;
    },
    stop: inHand.stop,
  };
}

it('a file in hand is read on when its partition is taken away, and its new owner waits', async () => {
  const leases = createLeases();
  const [old, heir] = [createThread(leases), createThread(leases)];
  const assignment = new AbortController();
  const lost = old.deliver(assignment);
  await eventually(old.reads).toBe(1);
  assignment.abort(new Error('rebalance'));
  await expect(lost).rejects.toThrow('rebalance');
  const waiting = heir.deliver();
  // The partition returns to the thread that still reads the file: no new read.
  const back = old.deliver();
  old.end();
  await back;
  await eventually(heir.reads).toBe(1);
  expect(old.reads()).toBe(1);
  heir.end();
  await waiting;
  expect(leases.holders.size).toBe(0);
});

it('a reader that has lost its lease stops, and waits for the other', async () => {
  const leases = createLeases();
  const thread = createThread(leases);
  const delivery = thread.deliver();
  await eventually(thread.reads).toBe(1);
  leases.holders.set('file 7.0.3', 'another');
  // The read has stopped once another can begin.
  await eventually(async () => {
    leases.holders.delete('file 7.0.3');
    return thread.reads();
  }).toBe(2);
  thread.end();
  await delivery;
});

it('what fails is told to the delivery, and the file can be begun again', async () => {
  const thread = createThread(createLeases());
  const delivery = thread.deliver();
  await eventually(thread.reads).toBe(1);
  thread.end(new Error('our own fault'));
  await expect(delivery).rejects.toThrow('our own fault');
  const again = thread.deliver();
  await eventually(thread.reads).toBe(2);
  thread.end();
  await again;
});

it('waits no longer for a file that nobody wants', async () => {
  const leases = createLeases();
  leases.holders.set('file 7.0.3', 'another');
  const thread = createThread(leases);
  const delivery = thread.deliver();
  thread.forget();
  await delivery;
  expect(thread.reads()).toBe(0);
});

it('a process that stops gives its files back', async () => {
  const leases = createLeases();
  const thread = createThread(leases);
  const delivery = thread.deliver();
  await eventually(thread.reads).toBe(1);
  const ended = expect(delivery).rejects.toThrow('stopping');
  await thread.stop();
  await ended;
  expect(leases.holders.size).toBe(0);
});
