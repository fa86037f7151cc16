/**
 * Bounds how far a stage runs ahead of the next one, in bytes: what a thread has sent counts until the next stage has handled it.
 * Waiting partners get equal shares of the bytes; within a partner, older jobs go first. A partner with nothing ahead need not wait until
 * other partners' messages are handled. Stages of the same process say how far they are; Kafka, which knows it of all, is asked only while
 * something waits.
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
  /** Resolves when there is room, with what has to be called then, to send. Rejects if the signal is aborted before. */
  room(sending: Sending, signal: AbortSignal): Promise<Send>;
  /** Resolves when everything up to these offsets is handled. */
  handled(placed: Placed, signal: AbortSignal): Promise<void>;
  /** Resolves when everything that is in the topic now is handled. */
  caughtUp(signal: AbortSignal): Promise<void>;
}

interface Dependencies {
  log: Logger;
  /** How far the next stage has come, by partition. */
  positions(): Promise<Map<number, Position>>;
  /** The same, sooner, of the partitions that this process handles. */
  hear(onHandled: OnHandled): void;
  pollMs?: number;
}

/** With the interval in which a stage commits its offsets, this is how late we know of them. */
const POLL_MS = 100;
/** Of the bound: what the first messages of partners may go beyond it. */
const FIRST_SHARE = 0.5;

interface Waiting {
  sending: Sending;
  go(): void;
}

export function createBytesAhead(
  maxBytes: number,
  { log, positions, hear, pollMs = POLL_MS }: Dependencies,
): BytesAhead {
  const waiting = new Set<Waiting>();
  /** Without offsets: up to the end that is seen first. */
  const settling = new Set<{ placed?: Placed; go(): void }>();
  /** Sent and not known to be handled. */
  let sent: { placed: Placed; sending: Sending }[] = [];
  /** Bytes of these, and of what is being sent; in all, and by partner. */
  let used = 0;
  const usedBy = new Map<string, number>();
  const turns = createFairShare();
  let polling = false;

  function use({ partner, bytes }: Sending, sign: 1 | -1): void {
    used += sign * bytes;
    const left = (usedBy.get(partner) ?? 0) + sign * bytes;
    if (left > 0) usedBy.set(partner, left);
    else usedBy.delete(partner);
  }

  /** Of each partner that waits, what its oldest job sends next. */
  function heads() {
    const oldest = new Map<string, Waiting>();
    for (const one of waiting) {
      const { partner, job } = one.sending;
      const known = oldest.get(partner);
      if (!known || job < known.sending.job) oldest.set(partner, one);
    }
    return [...oldest].map(([key, one]) => ({ key, cost: one.sending.bytes, one }));
  }

  function admit(): void {
    while (waiting.size > 0) {
      const fits = (bytes: number, max: number) => used === 0 || used + bytes <= max;
      const all = heads();
      let next = turns.next(all)!;
      if (!fits(next.cost, maxBytes)) {
        const first = turns.next(
          all,
          ({ key, cost }) => !usedBy.has(key) && fits(cost, maxBytes * (1 + FIRST_SHARE)),
        );
        if (!first) return;
        next = first;
      }
      turns.serve(next);
      use(next.one.sending, 1);
      next.one.go();
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
  hear((partition, next) => {
    heard.set(partition, next);
    if (waiting.size > 0)
      free((placed) => [...placed].every(([at, offset]) => offset < (heard.get(at) ?? 0n)));
  });

  function release(at: Map<number, Position>): void {
    // What is beyond the end was lost with a broker, and what was deleted is before the first offset: neither will be handled.
    const isDone = (placed: Placed) =>
      [...placed].every(([partition, offset]) => {
        const { handled, end } = at.get(partition) ?? { handled: 0n, end: 0n };
        return offset < handled || offset >= end;
      });
    for (const one of settling) {
      one.placed ??= new Map([...at].map(([partition, { end }]) => [partition, end - 1n]));
      if (isDone(one.placed)) one.go();
    }
    free(isDone);
  }

  async function poll(): Promise<void> {
    if (polling) return;
    polling = true;
    while (waiting.size > 0 || settling.size > 0) {
      await positions().then(release, (error) =>
        log.debug({ err: error }, 'cannot see how far the next stage is; trying again'),
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
        set.delete(one);
        reject(signal.reason);
      };
      const go = () => {
        set.delete(one);
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const one = { ...item, go } as Item;
      set.add(one);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  return {
    async room(sending, signal) {
      const room = wait(waiting, { sending }, signal);
      admit();
      void poll();
      await room;
      return async (send) => {
        try {
          // Nothing, if a test has lost the message.
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
