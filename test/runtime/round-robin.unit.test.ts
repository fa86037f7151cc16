import { expect, it } from 'vitest';
import { createRoundRobin } from '../../pipeline/runtime/round-robin.ts';

it('those that wait take turns; a newcomer is next', () => {
  const turns = createRoundRobin();
  const waiting = ['a', 'b', 'c'];
  expect(Array.from({ length: 4 }, () => turns.next(waiting))).toEqual(['a', 'b', 'c', 'a']);
  expect(turns.next(['c', 'b', 'd'])).toBe('d');
  expect(turns.next(['c', 'b', 'd'])).toBe('b');
  expect(turns.next([])).toBeUndefined();
});

it('one that comes back has not lost its place in the order', () => {
  const turns = createRoundRobin();
  turns.next(['busy']);
  turns.next(['rare']);
  turns.next(['busy']);
  expect(turns.next(['busy', 'rare'])).toBe('rare');
  expect(turns.next(['busy', 'rare'])).toBe('busy');
});
