import fc from 'fast-check';
import { expect, it } from 'vitest';
import { packCounts, packNumbers, unpackCounts, unpackNumbers } from '../../pipeline/formats/number-table.ts';

it('rows come back as they were, wherever their bytes begin', () => {
  const number = fc.oneof(fc.nat(), fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }));
  fc.assert(
    fc.property(fc.array(fc.tuple(number, number, number)), fc.nat(7), (rows, offset) => {
      const packed = packNumbers(rows);
      const moved = new Uint8Array(offset + packed.byteLength);
      moved.set(packed, offset);
      expect(unpackNumbers(moved.subarray(offset), 3)).toEqual(rows);
    }),
  );
});

it('100,000 attributes leave room in a document of 16 MB', () => {
  const rows = Array.from({ length: 100_000 }, (_, i) => [i, i, i]);
  expect(packNumbers(rows).byteLength).toBe(2_400_000);
});

it('counts by id come back, in the order of the ids', () => {
  const number = fc.oneof(fc.nat(200), fc.nat(), fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }));
  fc.assert(
    fc.property(fc.array(fc.tuple(number, number)), (entries) => {
      const counts = new Map(entries);
      const sorted = [...counts].sort(([a], [b]) => a - b);
      expect([...unpackCounts(packCounts(counts))]).toEqual(sorted);
    }),
  );
});

it('the counts of a million attributes leave room in a document of 16 MB', () => {
  const counts = new Map<number, number>();
  for (let i = 0; i < 1_000_000; i++) counts.set(i * 4_294, 2 ** 20 + i);
  expect(packCounts(counts).byteLength).toBeLessThan(6_000_000);
});

it('counts that are cut off, or something else, are an error and no endless loop', () => {
  const counts = packCounts(new Map([[300, 300]]));
  expect(() => unpackCounts(counts.subarray(0, -1))).toThrow(RangeError);
  expect(() => unpackCounts(packNumbers([[6, 53]]))).toThrow(RangeError);
});
