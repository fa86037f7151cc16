import fc from 'fast-check';
import { expect, it } from 'vitest';
import { SeenBatches } from '../../pipeline/formats/seen-batches.ts';

/** Mostly close together, like a job's batches, and up to numbers that no job reaches. */
const numbers = fc.oneof(fc.nat(200), fc.nat(2 ** 33), fc.constant(Number.MAX_SAFE_INTEGER));

it('each part of a batch is new once, as in a set of names', () => {
  const parts = fc.array(fc.record({ file: numbers, batch: numbers, part: fc.nat(100) }), {
    maxLength: 300,
  });
  fc.assert(
    fc.property(parts, (some) => {
      const seen = new SeenBatches();
      const names = new Set<string>();
      for (const one of [...some, ...some]) {
        const name = `${one.file}.${one.batch}.${one.part}`;
        expect(seen.has(one)).toBe(names.has(name));
        expect(seen.add(one)).toBe(!names.has(name));
        names.add(name);
      }
    }),
  );
});
