import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createDistinctCounter, type DistinctCounter } from '../../pipeline/sets/distinct-counter.ts';
import { fromHex, numberedDevices, randomDevices, toHex } from './devices.ts';

/** Everything once for each range. */
function countAll(counter: DistinctCounter, parts: Uint8Array[]): { count: number; passes: number } {
  counter.begin();
  let passes = 0;
  do {
    passes++;
    for (const part of parts) counter.add(part);
  } while (counter.nextRange());
  return { count: counter.count(), passes };
}

const distinct = (parts: Uint8Array[]) => new Set(parts.flatMap(toHex)).size;

describe('the distinct counter', () => {
  it('counts as a plain Set does, in one pass or in many, and again after it was reset', () => {
    const range = fc.record({ from: fc.nat(200), length: fc.nat(300) });
    fc.assert(
      fc.property(fc.array(range, { maxLength: 10 }), fc.integer({ min: 16, max: 600 }), (ranges, max) => {
        const parts = ranges.map(({ from, length }) => numberedDevices(from, from + length));
        const counter = createDistinctCounter(max);
        for (let round = 0; round < 2; round++) expect(countAll(counter, parts).count).toBe(distinct(parts));
      }),
      { numRuns: 60 },
    );
  });

  it('takes several passes only when there is no room', () => {
    const parts = [randomDevices(20_000, 1), randomDevices(20_000, 2), randomDevices(20_000, 1)];
    expect(countAll(createDistinctCounter(), parts)).toEqual({ count: 40_000, passes: 1 });
    const { count, passes } = countAll(createDistinctCounter(15_000), parts);
    expect(count).toBe(40_000);
    expect(passes).toBeGreaterThan(2);
  });

  it('is not misled by devices that look alike, nor by the one of zeros', () => {
    const hex = Array.from({ length: 4_096 }, (_, i) => {
      const word = (i % 16).toString(16).padStart(8, '0');
      return [0, 1, 2, 3].map((at) => (at === i >> 10 ? i.toString(16).padStart(8, '0') : word)).join('');
    });
    const parts = [fromHex(hex), fromHex(['0'.repeat(32)])];
    expect(countAll(createDistinctCounter(), parts).count).toBe(distinct(parts));
  });

  it('that was begun anew in the middle of a range has forgotten everything', () => {
    const counter = createDistinctCounter(1_000);
    counter.begin();
    counter.add(randomDevices(5_000, 7));
    expect(counter.nextRange()).toBe(true);
    expect(countAll(counter, [randomDevices(500, 8)])).toEqual({ count: 500, passes: 1 });
  });
});
