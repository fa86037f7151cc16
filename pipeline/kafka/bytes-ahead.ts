/**
 * Backpressure: limits the bytes that a stage has in flight to the next one. What a thread has sent counts until the next stage has
 * handled it. Waiting partners get equal shares of the bytes; within a partner, older jobs go first. A partner with nothing in flight does
 * not wait for other partners' messages, and while several partners send, the limit is lower: small jobs queue behind less, at the cost of
 * a few percent of a large job's speed. Stages of this process announce their progress; Kafka, which knows that of all processes, is polled
 * only while something waits.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createFairShare } from '../runtime/fair-share.ts';
import type { Logger } from '../runtime/log.ts';
import type { OnHandled } from './handled-offsets.ts';
import type { Placed } from './publish.ts';
import type { Position } from './read-lag.ts';

interface Sending {
  partner: string;
  job: number;
  bytes: number;
}

type Send = (send: () => Promise<Placed>) => Promise<Placed>;

interface BytesAhead {
  /** Resolves when there is room, with the function to send through. Rejects if the signal is aborted first. */
  room(sending: Sending, signal: AbortSignal): Promise<Send>;
  /** Resolves when everything up to these offsets is handled. */
  handled(placed: Placed, signal: AbortSignal): Promise<void>;
  /** Resolves when everything now in the topic is handled. */
  caughtUp(signal: AbortSignal): Promise<void>;
}

interface Dependencies {
  log: Logger;
  /** Progress of the next stage, by partition. */
  positions(): Promise<Map<number, Position>>;
  /** The same without delay, for the partitions that this process handles. */
  subscribe(onHandled: OnHandled): void;
  pollMs?: number;
  now?(): number;
}

/** Added to the interval of offset commits, this is how late we learn of progress. */
const POLL_MS = 100;
/** Partners with nothing in flight may exceed a single partner's limit by this share. */
const FIRST_SHARE = 0.5;
/** The limit while several partners send, as a share of a single partner's. */
const SHARED_LIMIT = 0.5;
/** A partner that has sent nothing for this long does not count. */
const SHARED_MS = 10_000;

interface Waiting {
  sending: Sending;
  go(): void;
}

export function createBytesAhead(
  maxBytes: number,
  { log, positions, subscribe, pollMs = POLL_MS, now = () => performance.now() }: Dependencies,
): BytesAhead {
  const waiting = new Set<Waiting>();
  /** Without offsets: up to the end of the topic at the first poll. */
  const settling = new Set<{ placed?: Placed; go(): void }>();
  /** Sent and not yet known to be handled. */
  let sent: { placed: Placed; sending: Sending }[] = [];
  /** Bytes sent and being sent: in total and by partner. */
  let used = 0;
  const usedBy = new Map<string, number>();
  const turns = createFairShare();
  let last = { partner: '', at: Number.NEGATIVE_INFINITY };
  let sharedUntil = Number.NEGATIVE_INFINITY;
  let polling = false;

  function noticeSender(partner: string): void {
    const at = now();
    if (partner !== last.partner && at < last.at + SHARED_MS) sharedUntil = at + SHARED_MS;
    last = { partner, at };
  }
  const limit = () => (now() < sharedUntil ? maxBytes * SHARED_LIMIT : maxBytes);

  function use({ partner, bytes }: Sending, sign: 1 | -1): void {
    used += sign * bytes;
    const left = (usedBy.get(partner) ?? 0) + sign * bytes;
    if (left > 0) usedBy.set(partner, left);
    else usedBy.delete(partner);
  }

  /** Each waiting partner's next send: that of its oldest job. */
  function heads() {
    const oldest = new Map<string, Waiting>();
    for (const caller of waiting) {
      const { partner, job } = caller.sending;
      const known = oldest.get(partner);
      if (!known || job < known.sending.job) oldest.set(partner, caller);
    }
    return [...oldest].map(([key, caller]) => ({ key, cost: caller.sending.bytes, caller }));
  }

  function admit(): void {
    while (waiting.size > 0) {
      const fits = (bytes: number, max: number) => used === 0 || used + bytes <= max;
      const all = heads();
      let next = turns.next(all)!;
      if (!fits(next.cost, limit())) {
        const first = turns.next(
          all,
          ({ key, cost }) => !usedBy.has(key) && fits(cost, maxBytes * (1 + FIRST_SHARE)),
        );
        if (!first) return;
        next = first;
      }
      turns.serve(next);
      use(next.caller.sending, 1);
      next.caller.go();
    }
  }

  function free(isDone: (placed: Placed) => boolean): void {
    sent = sent.filter(({ placed, sending }) => {
      const isHandled = isDone(placed);
      if (isHandled) use(sending, -1);
      return !isHandled;
    });
    admit();
  }

  const heard = new Map<number, bigint>();
  subscribe((partition, next) => {
    heard.set(partition, next);
    if (waiting.size > 0)
      free((placed) => [...placed].every(([at, offset]) => offset < (heard.get(at) ?? 0n)));
  });

  function release(at: Map<number, Position>): void {
    // Messages past the end were lost with a broker and will never be handled; those deleted by retention are before `handled`.
    const isDone = (placed: Placed) =>
      [...placed].every(([partition, offset]) => {
        const { handled, end } = at.get(partition) ?? { handled: 0n, end: 0n };
        return offset < handled || offset >= end;
      });
    for (const caller of settling) {
      caller.placed ??= new Map([...at].map(([partition, { end }]) => [partition, end - 1n]));
      if (isDone(caller.placed)) caller.go();
    }
    free(isDone);
  }

  async function poll(): Promise<void> {
    if (polling) return;
    polling = true;
    while (waiting.size > 0 || settling.size > 0) {
      await positions().then(release, (error) =>
        log.debug({ err: error }, "cannot read the next stage's offsets: retrying"),
      );
      await sleep(pollMs);
    }
    polling = false;
  }

  /** Waits in the set until `go` is called. */
  function wait<Item extends { go(): void }>(
    set: Set<Item>,
    item: Omit<Item, 'go'>,
    signal: AbortSignal,
  ): Promise<void> {
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      const leave = () => {
        set.delete(caller);
        reject(signal.reason);
      };
      const go = () => {
        set.delete(caller);
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const caller = { ...item, go } as Item;
      set.add(caller);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  return {
    async room(sending, signal) {
      noticeSender(sending.partner);
      const room = wait(waiting, { sending }, signal);
      admit();
      void poll();
      await room;
      return async (send) => {
        try {
          // Undefined if a test loses the message.
          const placed = (await send()) ?? new Map();
          sent.push({ placed, sending });
          return placed;
        } catch (error) {
          use(sending, -1);
          admit();
          throw error;
        }
      };
    },

    async handled(placed, signal) {
      const settled = wait(settling, { placed }, signal);
      void poll();
      await settled;
    },

    async caughtUp(signal) {
      const settled = wait(settling, {}, signal);
      void poll();
      await settled;
    },
  };
}
