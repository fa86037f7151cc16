import { getEventListeners } from 'node:events';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createInOrder } from '../../pipeline/stages/dispatch/in-order.ts';

const never = () => new AbortController().signal;

describe('a gate that lets numbers through in order', () => {
  it('runs one step at a time, in the order of the numbers, in whatever order they come', async () => {
    const arrivals = fc.integer({ min: 1, max: 30 }).chain((count) =>
      fc.shuffledSubarray(
        Array.from({ length: count }, (_, n) => 7 + n),
        { minLength: count },
      ),
    );
    await fc.assert(
      fc.asyncProperty(arrivals, async (numbers) => {
        const gate = createInOrder(7, never());
        const passed: number[] = [];
        let inside = 0;
        const results = await Promise.all(
          numbers.map((number) =>
            gate.pass(number, async () => {
              expect(++inside).toBe(1);
              await new Promise(setImmediate);
              inside--;
              passed.push(number);
              return number * 2;
            }),
          ),
        );
        expect(passed).toEqual([...numbers].sort((a, b) => a - b));
        expect(results).toEqual(numbers.map((number) => number * 2));
      }),
      { numRuns: 50 },
    );
  });

  it('lets nobody past a step that failed', async () => {
    const stop = new AbortController();
    const gate = createInOrder(1, stop.signal);
    let passed = false;
    const next = gate.pass(2, async () => {
      passed = true;
    });
    await expect(gate.pass(1, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    await new Promise(setImmediate);
    expect(passed).toBe(false);
    stop.abort(new Error('stopping'));
    await expect(next).rejects.toThrow('stopping');
    expect(passed).toBe(false);
  });

  it('listens once for its end, however many wait', async () => {
    const stop = new AbortController();
    const gate = createInOrder(1, stop.signal);
    const waiting = Array.from({ length: 100 }, (_, n) => gate.pass(n + 2, async () => n));
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(1);
    stop.abort(new Error('stopping'));
    expect((await Promise.allSettled(waiting)).every(({ status }) => status === 'rejected')).toBe(true);
  });

  it('refuses those who wait and those who come when it is closed', async () => {
    const stop = new AbortController();
    const gate = createInOrder(1, stop.signal);
    const waiting = gate.pass(3, async () => 'in');
    stop.abort(new Error('stopping'));
    await expect(waiting).rejects.toThrow('stopping');
    await expect(gate.pass(1, async () => 'in')).rejects.toThrow('stopping');
  });
});
