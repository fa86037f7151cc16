/**
 * Events for all clients of this process, from one change stream, which opens for the first client and closes some time after the last.
 * Bursts of changes to a record are coalesced into a few events per second; the last event shows the newest state.
 *
 * An event id is a watermark: everything earlier has been sent. A client that returns with it, to any process, gets the changes since,
 * or a `resync` if they are no longer known.
 */

import { createRetry } from '../../../pipeline/engine/retry.ts';
import type { Logger } from '../../../pipeline/runtime/log.ts';
import {
  type Change,
  type ChangeStore,
  isPosition,
  type Position,
  secondsBefore,
} from '../../stores/changes.ts';
import { createEventLog, type EventLog, type EventLogLimits, type RecordEvent } from './event-log.ts';
import { type Following, followChanges } from './follow-changes.ts';
import type { RenderEvents } from './render-events.ts';

interface HubDependencies {
  changes: ChangeStore;
  render: RenderEvents;
  log: Logger;
  limits?: EventLogLimits;
}

export interface Client {
  isVisible(event: RecordEvent): boolean;
  send(text: string): void;
  end(): void;
}

/** A client that has joined. */
export interface Membership {
  /** The current watermark: everything earlier has been sent. */
  position(): Position;
  leave(): void;
}

interface Member {
  client: Client;
  /** The client has everything before this. */
  from: Position;
}

/** From the first client to some time after the last. */
interface Run {
  following: Following;
  eventLog: EventLog;
  stopping: AbortController;
}

export type EventHub = ReturnType<typeof createEventHub>;

/** How far back a new process reads, for clients of the process it replaces. */
const BACK_SECONDS = 300;
const LINGER_MS = 60_000;
/** Between two events of a record, and after the first change of a group. */
const SPACING_MS = 250;
const GATHER_MS = 20;
const MAX_AT_ONCE = 500;
/** Beyond this, reading the lists again is cheaper. */
const MAX_TEXT = 500_000;
const defaultLimits: EventLogLimits = { maxEvents: 20_000, maxBytes: 16_000_000 };

const later = (a: Position, b: Position) => (a > b ? a : b);
const textOf = ({ name, data }: { name: string; data: string }, id: Position) =>
  `id: ${id}\nevent: ${name}\ndata: ${data}\n\n`;
const resync = { name: 'resync', data: '{}' };

export function createEventHub({ changes, render, log, limits = defaultLimits }: HubDependencies) {
  const members = new Set<Member>();
  /** Unsent changes by record, in the order of each record's first change. */
  const pending = new Map<string, { first: Position; change: Change }>();
  const retry = createRetry(log, { when: () => true, ref: false });
  let run: Run | undefined;
  /** Everything earlier has been sent. */
  let sentUpTo: Position = '';
  let flushing = false;
  let flushedAt = 0;
  let timer: NodeJS.Timeout | undefined;
  let lingering: NodeJS.Timeout | undefined;
  let closed = false;

  function start(now: Position): Run {
    const from = secondsBefore(now, BACK_SECONDS);
    sentUpTo = from;
    const stopping = new AbortController();
    const following = followChanges({ changes, log }, { from, otherwise: now }, { onChange, onLost });
    return { following, stopping, eventLog: createEventLog(from, limits) };
  }

  function stop(): void {
    run?.stopping.abort();
    run?.following.stop();
    run = undefined;
    clearTimeout(timer);
    timer = undefined;
    pending.clear();
  }

  function onChange(change: Change): void {
    const key = `${change.of} ${change.id}`;
    pending.set(key, { first: pending.get(key)?.first ?? change.at, change });
    schedule();
  }

  /** The gap cannot be filled: clients get a `resync`, and events continue from here. */
  function onLost(at: Position): void {
    pending.clear();
    sentUpTo = at;
    run!.eventLog = createEventLog(at, limits);
    for (const member of members) {
      if (member.from >= at) continue;
      member.from = at;
      member.client.send(textOf(resync, at));
    }
  }

  function schedule(): void {
    if (timer || flushing || pending.size === 0) return;
    // A new process has minutes of changes to catch up on.
    const isBehind = pending.size >= MAX_AT_ONCE;
    const waitMs = isBehind ? 0 : Math.max(GATHER_MS, flushedAt + SPACING_MS - performance.now());
    timer = setTimeout(() => {
      timer = undefined;
      void flush(run!);
    }, waitMs);
  }

  /** Advances the watermark, also while nothing changes. */
  function position(): Position {
    if (run && pending.size === 0 && !flushing) sentUpTo = later(sentUpTo, run.following.position());
    return sentUpTo;
  }

  async function flush({ eventLog, stopping: { signal } }: Run): Promise<void> {
    flushing = true;
    flushedAt = performance.now();
    const some = [...pending].slice(0, MAX_AT_ONCE);
    for (const [key] of some) pending.delete(key);
    const changed = some.map(([, { change }]) => change);
    const newest = changed.reduce((at, change) => later(at, change.at), '');
    try {
      const read = () => changes.readAfter(newest, (session) => render(changed, session));
      const events = await retry('read changed records', read, signal);
      if (run?.eventLog === eventLog) publish(events, newest);
    } catch (error) {
      if (!signal.aborted)
        log.error({ err: error }, 'events not sent: the changed records could not be read');
    } finally {
      flushing = false;
      schedule();
    }
  }

  function publish(events: RecordEvent[], newest: Position): void {
    const before = sentUpTo;
    const [oldest] = pending.values();
    sentUpTo = later(before, oldest ? oldest.first : newest);
    for (const event of events) run!.eventLog.add(event);
    for (const member of members) sendTo(member, events, before);
  }

  /** Only the last event carries the new watermark: a client that got a part gets all of them again. */
  function sendTo({ client, from }: Member, events: RecordEvent[], before: Position): void {
    const own = events.filter((event) => event.at >= from && client.isVisible(event));
    if (own.length === 0) return;
    const last = own.pop()!;
    const first = own.map((event) => textOf(event, later(from, before)));
    const text = first.join('') + textOf(last, later(from, sentUpTo));
    client.send(text.length > MAX_TEXT ? textOf(resync, later(from, sentUpTo)) : text);
  }

  function leave(member: Member): void {
    members.delete(member);
    if (members.size > 0 || closed) return;
    clearTimeout(lingering);
    lingering = setTimeout(stop, LINGER_MS).unref();
  }

  return {
    /** `lastEventId`: as sent by the client; empty for a new client. */
    async join(client: Client, lastEventId: string): Promise<Membership | undefined> {
      const now = await changes.now();
      if (closed) return undefined;
      clearTimeout(lingering);
      run ??= start(now);
      const { eventLog } = run;
      // A future position comes from another database, or from before a restore.
      const isKnown = isPosition(lastEventId) && lastEventId <= now && eventLog.covers(lastEventId);
      const member: Member = { client, from: isKnown ? lastEventId : now };
      members.add(member);
      if (isKnown) sendTo(member, eventLog.since(lastEventId, client.isVisible), lastEventId);
      else if (lastEventId !== '') client.send(textOf(resync, now));
      return {
        position: () => later(member.from, position()),
        leave: () => leave(member),
      };
    },

    /** Ends all streams and accepts no more. */
    close(): void {
      closed = true;
      for (const { client } of members) client.end();
      members.clear();
      clearTimeout(lingering);
      stop();
    },
  };
}
