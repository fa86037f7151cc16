/**
 * Bounds how far split runs ahead of validate, in bytes of rows: what a thread has sent counts until validate has committed it, however
 * much a file expands. Waiting files are served in the order of jobs. Asks Kafka only while a file waits.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Placed } from '../../kafka/publish.ts';
import type { Position } from '../../kafka/read-lag.ts';
import type { Logger } from '../../runtime/log.ts';

interface RowsAhead {
  /** Sends when there is room. Rejects if the signal is aborted before. */
  send(
    rows: { job: number; bytes: number },
    signal: AbortSignal,
    send: () => Promise<Placed>,
  ): Promise<Placed>;
  /** Resolves when validate has committed everything up to these offsets. */
  validated(placed: Placed, signal: AbortSignal): Promise<void>;
  /** Resolves when validate has committed everything that is in the topic now. */
  caughtUp(signal: AbortSignal): Promise<void>;
}

interface Dependencies {
  log: Logger;
  /** How far validate has come, by partition of `rows`. */
  positions(): Promise<Map<number, Position>>;
}

const POLL_MS = 200;

interface Waiting {
  job: number;
  bytes: number;
  go(): void;
}

export function createRowsAhead(maxBytes: number, { log, positions }: Dependencies): RowsAhead {
  const waiting = new Set<Waiting>();
  /** Without offsets: up to the end that is seen first. */
  const settling = new Set<{ placed?: Placed; go(): void }>();
  /** Sent and not known to be validated. */
  let sent: { placed: Placed; bytes: number }[] = [];
  /** Bytes of these, and of what is being sent. */
  let used = 0;
  let polling = false;

  function admit(): void {
    while (waiting.size > 0) {
      let next: Waiting | undefined;
      for (const one of waiting) if (!next || one.job < next.job) next = one;
      if (used > 0 && used + next!.bytes > maxBytes) return;
      waiting.delete(next!);
      used += next!.bytes;
      next!.go();
    }
  }

  function release(at: Map<number, Position>): void {
    // What is beyond the end was lost with a broker, and what was deleted is before the first offset: neither will be validated.
    const isDone = (placed: Placed) =>
      [...placed].every(([partition, offset]) => {
        const { next, end } = at.get(partition) ?? { next: 0n, end: 0n };
        return offset < next || offset >= end;
      });
    sent = sent.filter(({ placed, bytes }) => {
      const isValidated = isDone(placed);
      if (isValidated) used -= bytes;
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
      await sleep(POLL_MS);
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
    async send({ job, bytes }, signal, send) {
      const room = wait(waiting, { job, bytes }, signal);
      admit();
      void poll();
      await room;
      try {
        // Nothing, if a test has lost the message.
        const placed = (await send()) ?? new Map();
        sent.push({ placed, bytes });
        return placed;
      } catch (error) {
        used -= bytes;
        admit();
        throw error;
      }
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
