/** An epoch is one assignment of partitions: offsets of its deliveries are resolved and committed within it, or not at all. */
import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';

/** `next`: where the next owner of the partition resumes. `handled`: how far this owner got. */
export interface CommittedOffset {
  next: bigint;
  handled: bigint;
}

export interface Epoch {
  readonly id: string;
  /** Next offset to handle, by partition. */
  readonly handled: Map<number, bigint>;
  readonly committed: Map<number, CommittedOffset>;
  /** Timestamp of the first unhandled message, by partition. */
  readonly oldest: Map<number, number>;
  /** Partitions with handled messages. */
  readonly begun: Set<number>;
  /** Messages handled concurrently: offset commits stop at the first of them. */
  readonly inFlight: InFlight;
  /** Aborted when the assignment ends. */
  readonly over: AbortSignal;
  /** Aborted when a handler fails or the assignment ends. If only a handler failed, the next call returns a new signal. */
  work(): AbortSignal;
  fail(reason: unknown): void;
  end(): void;
}

export interface InFlight {
  readonly size: number;
  /** Call in offset order within a partition. `time`: the message's timestamp. */
  add(partition: number, offset: bigint, time: number): void;
  delete(partition: number, offset: bigint): void;
  /** First offset in flight of the partition. */
  first(partition: number): bigint | undefined;
  /** Timestamp of the first message in flight of each partition. */
  oldest(): number[];
}

export function newEpoch(): Epoch {
  const over = new AbortController();
  let working = new AbortController();
  // Every message in flight adds a listener.
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
