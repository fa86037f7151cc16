/** Bounded buffer of recent events, for clients that resume. */
import type { Position } from '../../stores/changes.ts';

/** A changed record, as the client gets it. */
export interface RecordEvent {
  /** The newest change included. */
  at: Position;
  name: 'import' | 'audience' | 'load' | 'deleted';
  id: number;
  /** Who may see it. */
  partner: string;
  customer: string | null;
  /** JSON. */
  data: string;
}

export interface EventLogLimits {
  maxEvents: number;
  maxBytes: number;
}

export type EventLog = ReturnType<typeof createEventLog>;

const keyOf = ({ name, id }: RecordEvent) => `${name} ${id}`;

/** `from`: the log is complete from here on. */
export function createEventLog(from: Position, { maxEvents, maxBytes }: EventLogLimits) {
  let events: RecordEvent[] = [];
  let begin = 0;
  let bytes = 0;
  /** The newest change of an event that was dropped. */
  let lostUpTo = '';

  function dropOldest(): void {
    const { at, data } = events[begin]!;
    if (at > lostUpTo) lostUpTo = at;
    bytes -= data.length;
    begin++;
    // Rarely, because this moves the whole array.
    if (begin * 2 > events.length) {
      events = events.slice(begin);
      begin = 0;
    }
  }

  return {
    add(event: RecordEvent): void {
      events.push(event);
      bytes += event.data.length;
      while (events.length - begin > maxEvents || bytes > maxBytes) dropOldest();
    },

    /** Whether the log has every change at or after the position. */
    covers: (position: Position): boolean => position >= from && position > lostUpTo,

    /** The newest event of each record that changed at or after the position, in order. */
    since(position: Position, isWanted: (event: RecordEvent) => boolean): RecordEvent[] {
      const newest = new Map<string, RecordEvent>();
      for (let i = events.length - 1; i >= begin; i--) {
        const event = events[i]!;
        if (event.at >= position && isWanted(event) && !newest.has(keyOf(event)))
          newest.set(keyOf(event), event);
      }
      return [...newest.values()].reverse();
    },
  };
}
