/** A bit per file is equivalent to the ranges and lists that it is built from. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  createFileBits,
  createFileRanges,
  packFiles,
  packRanges,
} from '../../pipeline/formats/file-numbers.ts';

const files = fc.uniqueArray(fc.nat(500), { maxLength: 60 }).map((some) => some.sort((a, b) => a - b));

it('ranges', () => {
  fc.assert(
    fc.property(files, (some) => {
      const ranges = some.length % 2 === 0 ? some : some.slice(1);
      const [bits, reference] = [createFileBits(packRanges(ranges)), createFileRanges(ranges)];
      for (let file = 0; file <= 520; file++) expect(bits(file)).toBe(reference(file));
    }),
  );
});

it('files', () => {
  fc.assert(
    fc.property(files, (some) => {
      const bits = createFileBits(packFiles(some));
      for (let file = 0; file <= 520; file++) expect(bits(file)).toBe(some.includes(file));
    }),
  );
});
