/** A client that reconnects gets every event it has missed, or is told that it cannot resume. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createEventLog, type RecordEvent } from '../../api/resources/events/event-log.ts';

const position = (number: number) => number.toString(16).padStart(16, '0');
const event = (at: number, id: number): RecordEvent => ({
  at: position(at),
  name: 'import',
  id,
  partner: 'p',
  customer: null,
  data: `${id} at ${at}`,
});

it('has the newest event of every record that changed since, or does not cover the position', () => {
  const script = fc.record({
    start: fc.nat(5),
    records: fc.array(fc.nat(6), { maxLength: 60 }),
    maxEvents: fc.integer({ min: 1, max: 20 }),
    asked: fc.nat(70),
  });
  fc.assert(
    fc.property(script, ({ start, records, maxEvents, asked }) => {
      const log = createEventLog(position(start), { maxEvents, maxBytes: 10_000 });
      const newest = new Map<number, number>();
      for (const [i, id] of records.entries()) {
        log.add(event(start + i, id));
        newest.set(id, start + i);
      }
      if (!log.covers(position(asked))) {
        expect(asked < start || records.length > maxEvents).toBe(true);
        return;
      }
      const wanted = [...newest].filter(([, at]) => at >= asked).sort(([, a], [, b]) => a - b);
      expect(log.since(position(asked), () => true)).toEqual(wanted.map(([id, at]) => event(at, id)));
    }),
  );
});

it('is bounded by bytes, too, and by what the client may see', () => {
  const log = createEventLog(position(0), { maxEvents: 1_000, maxBytes: 60 });
  for (let at = 1; at <= 20; at++) log.add(event(at, at));
  expect(log.covers(position(1))).toBe(false);
  expect(log.covers(position(19))).toBe(true);
  expect(log.since(position(19), ({ id }) => id === 20)).toEqual([event(20, 20)]);
});
