/** One assignment of partitions: what was delivered in it is resolved and committed in it, or not at all. */
import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';

/** Where the next owner of a partition begins, and how far this one has come. */
export interface CommittedOffset {
  next: bigint;
  handled: bigint;
}

export interface Epoch {
  readonly id: string;
  /** The next offset to handle, by partition. */
  readonly handled: Map<number, bigint>;
  readonly committed: Map<number, CommittedOffset>;
  /** The timestamp of the first message that is not handled, by partition. */
  readonly oldest: Map<number, number>;
  /** Partitions with handled messages. */
  readonly begun: Set<number>;
  /** Messages that are handled concurrently: offsets are committed up to the first of them. */
  readonly inFlight: InFlight;
  /** Aborted when the assignment ends. */
  readonly over: AbortSignal;
  /** Ends when a handler fails or the assignment ends; after a failure that is no rebalance, the same partitions continue with a new one. */
  work(): AbortSignal;
  fail(reason: unknown): void;
  end(): void;
}

export interface InFlight {
  readonly size: number;
  /** Messages of a partition are added in the order of their offsets. `time`: when the message was written. */
  add(partition: number, offset: bigint, time: number): void;
  delete(partition: number, offset: bigint): void;
  /** The first offset of the partition that is in flight. */
  first(partition: number): bigint | undefined;
  /** The times of the first messages of all partitions. */
  oldest(): number[];
}

export function newEpoch(): Epoch {
  const over = new AbortController();
  let working = new AbortController();
  // Everything in flight listens to it.
  setMaxListeners(0, over.signal, working.signal);
  return {
    id: randomUUID(),
    handled: new Map(),
    committed: new Map(),
    oldest: new Map(),
    begun: new Set(),
    inFlight: createInFlight(),
    over: over.signal,
    work() {
      if (working.signal.aborted && !over.signal.aborted) {
        working = new AbortController();
        setMaxListeners(0, working.signal);
      }
      return working.signal;
    },
    fail: (reason) => working.abort(reason),
    end() {
      const reason = new Error('stopping');
      working.abort(reason);
      over.abort(reason);
    },
  };
}

export function createInFlight(): InFlight {
  const partitions = new Map<number, Map<bigint, number>>();
  let size = 0;
  const firstOf = (offsets: Map<bigint, number> | undefined) => offsets?.entries().next().value;

  return {
    get size() {
      return size;
    },
    add(partition, offset, time) {
      const offsets = partitions.get(partition) ?? new Map<bigint, number>();
      if (!offsets.has(offset)) size++;
      partitions.set(partition, offsets.set(offset, time));
    },
    delete(partition, offset) {
      if (partitions.get(partition)?.delete(offset)) size--;
    },
    first: (partition) => firstOf(partitions.get(partition))?.[0],
    oldest: () => [...partitions.values()].flatMap((offsets) => firstOf(offsets)?.[1] ?? []),
  };
}
