/** Bounded buffer of recent events, for clients that resume. */
import type { Position } from '../../stores/changes.ts';

/** A record that has changed, as the client gets it. */
export interface RecordEvent {
  /** The newest change that it shows. */
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

/** `from`: the log has everything from here on. */
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
    // Rarely, because it moves the whole array.
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

    /** Whether everything that changed at the position or later is here. */
    covers: (position: Position): boolean => position >= from && position > lostUpTo,

    /** The newest event of each record that changed at the position or later, in their order. */
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
