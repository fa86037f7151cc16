import { getEventListeners } from 'node:events';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSequencer } from '../../pipeline/stages/dispatch/sequencer.ts';

const never = () => new AbortController().signal;

describe('a gate that lets numbers through in order', () => {
  it('runs one step at a time, with all that are ready, in the order of the numbers, in whatever order they come', async () => {
    const arrivals = fc.integer({ min: 1, max: 30 }).chain((count) =>
      fc.shuffledSubarray(
        Array.from({ length: count }, (_, n) => 7 + n),
        { minLength: count },
      ),
    );
    await fc.assert(
      fc.asyncProperty(arrivals, async (numbers) => {
        const passed: number[] = [];
        let inside = 0;
        const gate = createSequencer(7, never(), async (some: number[]) => {
          expect(++inside).toBe(1);
          await new Promise(setImmediate);
          inside--;
          passed.push(...some);
          return some.map((number) => number * 2);
        });
        const results = await Promise.all(numbers.map((number) => gate.pass(number, number)));
        expect(passed).toEqual([...numbers].sort((a, b) => a - b));
        expect(results).toEqual(numbers.map((number) => number * 2));
      }),
      { numRuns: 50 },
    );
  });

  it('of several, only the one fails for which the step fails alone; none passes it, and it may try again', async () => {
    const groups: number[][] = [];
    let isBad = true;
    const gate = createSequencer(1, never(), async (some: number[]) => {
      groups.push(some);
      if (isBad && some.includes(3)) throw new Error('no');
      return some;
    });
    const later = [2, 3, 4].map((number) => gate.pass(number, number));
    const first = gate.pass(1, 1);
    await expect(later[1]).rejects.toThrow('no');
    expect(await Promise.all([first, later[0]])).toEqual([1, 2]);
    await expect(gate.pass(3, 3)).rejects.toThrow('no');
    expect(groups).toEqual([[1, 2, 3, 4], [1], [2], [3], [3, 4], [3]]);
    isBad = false;
    expect(await Promise.all([gate.pass(3, 3), later[2]])).toEqual([3, 4]);
    expect(groups.slice(6)).toEqual([[3, 4]]);
  });

  it('takes one that has passed again, alone and at once', async () => {
    const groups: number[][] = [];
    const gate = createSequencer(1, never(), async (some: number[]) => {
      groups.push(some);
      return some;
    });
    await gate.pass(1, 1);
    expect(await gate.pass(1, 7)).toBe(7);
    expect(groups).toEqual([[1], [7]]);
  });

  it('listens once for its end, however many wait', async () => {
    const stop = new AbortController();
    const gate = createSequencer(1, stop.signal, async () => {});
    const waiting = Array.from({ length: 100 }, (_, n) => gate.pass(n + 2, n));
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(1);
    stop.abort(new Error('stopping'));
    expect((await Promise.allSettled(waiting)).every(({ status }) => status === 'rejected')).toBe(true);
  });

  it('refuses those who wait and those who come when it is closed', async () => {
    const stop = new AbortController();
    const gate = createSequencer(1, stop.signal, async () => {});
    const waiting = gate.pass(3, 'in');
    stop.abort(new Error('stopping'));
    await expect(waiting).rejects.toThrow('stopping');
    await expect(gate.pass(1, 'in')).rejects.toThrow('stopping');
  });
});
