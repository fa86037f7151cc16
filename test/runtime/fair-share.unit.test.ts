import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createFairShare } from '../../pipeline/runtime/fair-share.ts';

const MAX = 700;
const cost = fc.integer({ min: 1, max: MAX });

it('of those that wait all the time, none gets less than its share without one item', () => {
  const items = fc.array(cost, { minLength: 50, maxLength: 50 });
  fc.assert(
    fc.property(fc.array(items, { minLength: 2, maxLength: 4 }), cost, (queues, before) => {
      const turns = createFairShare();
      // What is served while nothing else waits does not count against the key.
      turns.next([{ key: '0', cost: before }]);
      turns.serve({ key: '0', cost: before });
      turns.next([{ key: '0', cost: 1 }]);
      const served = queues.map(() => 0);
      while (queues.every(({ length }) => length > 0)) {
        const next = turns.next(queues.map((queue, key) => ({ key: String(key), cost: queue[0]! })))!;
        turns.serve(next);
        queues[Number(next.key)]!.shift();
        served[Number(next.key)]! += next.cost;
        expect(Math.max(...served) - Math.min(...served)).toBeLessThanOrEqual(MAX);
      }
    }),
  );
});

it('one that begins to wait starts level with the others, whatever was served before', () => {
  const turns = createFairShare();
  const serve = (...keys: string[]) => {
    const next = turns.next(keys.map((key) => ({ key, cost: 10 })))!;
    turns.serve(next);
    return next.key;
  };
  const turnsOfA = () =>
    Array.from({ length: 20 }, () => serve('a', 'b')).filter((key) => key === 'a').length;
  for (let n = 0; n < 50; n++) serve('a');
  // Neither of them has a debt or credit.
  expect([10, 9]).toContain(turnsOfA());
  for (let n = 0; n < 50; n++) serve('b');
  expect([10, 11]).toContain(turnsOfA());
});

it('a small item passes the large ones of others', () => {
  const turns = createFairShare();
  const large = ['a', 'b', 'c', 'd'].map((key) => ({ key, cost: MAX }));
  for (let n = 0; n < 10; n++) turns.serve(turns.next(large)!);
  expect(turns.next([...large, { key: 'small', cost: 1 }])?.key).toBe('small');
});

it('one that does not fit is passed over, and keeps its claim', () => {
  const turns = createFairShare();
  const [a, b] = [
    { key: 'a', cost: 10 },
    { key: 'b', cost: 10 },
  ];
  for (let n = 0; n < 3; n++) turns.serve(turns.next([a, b], ({ key }) => key === 'b')!);
  expect(turns.next([a, b], () => false)).toBeUndefined();
  for (let n = 0; n < 3; n++) {
    const next = turns.next([a, b])!;
    expect(next.key).toBe('a');
    turns.serve(next);
  }
});

it('turns of one worth: those that wait take turns, and one that comes back is next', () => {
  const turns = createFairShare();
  const waiting = ['a', 'b', 'c'];
  expect(Array.from({ length: 4 }, () => turns.takeTurn(waiting))).toEqual(['a', 'b', 'c', 'a']);
  expect(turns.takeTurn(['a', 'd'])).toBe('d');
  for (let n = 0; n < 10; n++) turns.takeTurn(['busy']);
  expect(turns.takeTurn(['busy', 'a'])).toBe('a');
  expect(turns.takeTurn(['busy', 'a'])).toBe('busy');
  expect(turns.takeTurn([])).toBeUndefined();
});
