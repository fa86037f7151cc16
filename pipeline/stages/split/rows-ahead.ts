/**
 * Bounds how far split runs ahead of validate, in bytes of rows: what a thread has sent counts until validate has committed it, however
 * much a file expands. Partners that wait get equal shares of the bytes; within a partner, older jobs go first. A partner of which
 * nothing is ahead need not wait for the others' rows to be validated. Asks Kafka only while a file waits.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Placed } from '../../kafka/publish.ts';
import type { Position } from '../../kafka/read-lag.ts';
import { createFairShare } from '../../runtime/fair-share.ts';
import type { Logger } from '../../runtime/log.ts';

interface Rows {
  partner: string;
  job: number;
  bytes: number;
}

type Send = (send: () => Promise<Placed>) => Promise<Placed>;

interface RowsAhead {
  /** Resolves when there is room, with what has to be called then, to send. Rejects if the signal is aborted before. */
  room(rows: Rows, signal: AbortSignal): Promise<Send>;
  /** Resolves when validate has committed everything up to these offsets. */
  validated(placed: Placed, signal: AbortSignal): Promise<void>;
  /** Resolves when validate has committed everything that is in the topic now. */
  caughtUp(signal: AbortSignal): Promise<void>;
}

interface Dependencies {
  log: Logger;
  /** How far validate has come, by partition of `rows`. */
  positions(): Promise<Map<number, Position>>;
  pollMs?: number;
}

/** With the interval in which validate commits its offsets, this is how late we know of them: rows for this time must be ahead. */
const POLL_MS = 100;
/** Of the bound: what the first rows of partners may go beyond it. */
const FIRST_SHARE = 0.5;

interface Waiting {
  rows: Rows;
  go(): void;
}

export function createRowsAhead(
  maxBytes: number,
  { log, positions, pollMs = POLL_MS }: Dependencies,
): RowsAhead {
  const waiting = new Set<Waiting>();
  /** Without offsets: up to the end that is seen first. */
  const settling = new Set<{ placed?: Placed; go(): void }>();
  /** Sent and not known to be validated. */
  let sent: { placed: Placed; rows: Rows }[] = [];
  /** Bytes of these, and of what is being sent; in all, and by partner. */
  let used = 0;
  const usedBy = new Map<string, number>();
  const turns = createFairShare();
  let polling = false;

  function use({ partner, bytes }: Rows, sign: 1 | -1): void {
    used += sign * bytes;
    const left = (usedBy.get(partner) ?? 0) + sign * bytes;
    if (left > 0) usedBy.set(partner, left);
    else usedBy.delete(partner);
  }

  /** Of each partner that waits, the rows of its oldest job. */
  function heads() {
    const oldest = new Map<string, Waiting>();
    for (const one of waiting) {
      const { partner, job } = one.rows;
      const known = oldest.get(partner);
      if (!known || job < known.rows.job) oldest.set(partner, one);
    }
    return [...oldest].map(([key, one]) => ({ key, cost: one.rows.bytes, one }));
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
      use(next.one.rows, 1);
      next.one.go();
    }
  }

  function release(at: Map<number, Position>): void {
    // What is beyond the end was lost with a broker, and what was deleted is before the first offset: neither will be validated.
    const isDone = (placed: Placed) =>
      [...placed].every(([partition, offset]) => {
        const { next, end } = at.get(partition) ?? { next: 0n, end: 0n };
        return offset < next || offset >= end;
      });
    sent = sent.filter(({ placed, rows }) => {
      const isValidated = isDone(placed);
      if (isValidated) use(rows, -1);
      return !isValidated;
    });
    for (const one of settling) {
      one.placed ??= new Map([...at].map(([partition, { end }]) => [partition, end - 1n]));
      if (isDone(one.placed)) one.go();
    }
    admit();
  }

  async function poll(): Promise<void> {
    if (polling) return;
    polling = true;
    while (waiting.size > 0 || settling.size > 0) {
      await positions().then(release, (error) =>
        log.debug({ err: error }, 'cannot see how far validate is; trying again'),
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
    async room(rows, signal) {
      const room = wait(waiting, { rows }, signal);
      admit();
      void poll();
      await room;
      return async (send) => {
        try {
          // Nothing, if a test has lost the message.
          const placed = (await send()) ?? new Map();
          sent.push({ placed, rows });
          return placed;
        } catch (error) {
          use(rows, -1);
          admit();
          throw error;
        }
      };
    },

    async validated(placed, signal) {
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
