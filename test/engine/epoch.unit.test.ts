import { expect, it } from 'vitest';
import { createInFlight } from '../../pipeline/engine/epoch.ts';

it('the first message in flight of a partition is the lowest that is not handled', () => {
  const inFlight = createInFlight();
  for (const offset of [5n, 6n, 7n]) inFlight.add(0, offset, Number(offset) * 10);
  inFlight.add(1, 2n, 20);
  expect([inFlight.first(0), inFlight.first(1), inFlight.first(2)]).toEqual([5n, 2n, undefined]);
  inFlight.delete(0, 6n);
  expect(inFlight.first(0)).toBe(5n);
  inFlight.delete(0, 5n);
  expect([inFlight.first(0), inFlight.size]).toEqual([7n, 2]);
  expect(inFlight.oldest()).toEqual([70, 20]);
  inFlight.delete(0, 7n);
  inFlight.delete(0, 7n);
  expect([inFlight.first(0), inFlight.size]).toEqual([undefined, 1]);
});

it('a message that is delivered twice is in flight once', () => {
  const inFlight = createInFlight();
  inFlight.add(0, 5n, 1);
  inFlight.add(0, 5n, 1);
  expect(inFlight.size).toBe(1);
});
