import { randomFillSync } from 'node:crypto';
import { expect, test } from 'vitest';
import { DigestFilter } from '../../pipeline/formats/digest-filter.ts';
import { WORDS } from '../../pipeline/formats/identifier.ts';

const digests = (count: number) => randomFillSync(new Uint32Array(count * WORDS));
const seen = (filter: DigestFilter, words: Uint32Array) => {
  let count = 0;
  for (let at = 0; at < words.length; at += WORDS) if (filter.mayHave(words, at)) count++;
  return count;
};

test.each([1, 1_000, 50_000, 200_000])(
  'a filter for %d digests has all of them, and seems to have few others even when it is full',
  (expected) => {
    const filter = new DigestFilter(expected);
    expect(filter.capacity).toBeGreaterThanOrEqual(expected);
    const listed = digests(filter.capacity);
    for (let at = 0; at < listed.length; at += WORDS) filter.add(listed, at);
    expect(seen(filter, listed)).toBe(filter.capacity);
    expect(seen(filter, digests(100_000))).toBeLessThan(300);
  },
);

test('an empty filter has nothing', () => {
  expect(seen(new DigestFilter(0), digests(10_000))).toBe(0);
});
