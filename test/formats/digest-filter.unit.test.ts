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

test('a filter finds the digests that it may have among many, at any stride', () => {
  const stride = 2 * WORDS;
  const filter = new DigestFilter(1_000);
  const words = randomFillSync(new Uint32Array(500 * stride));
  for (let n = 0; n < 500; n += 3) filter.add(words, n * stride);
  const places = Array.from({ length: 500 }, (_, n) => n * stride);
  const found: number[] = [];
  filter.eachPossible(words, 500, stride, (at) => found.push(at));
  expect(found).toEqual(places.filter((at) => filter.mayHave(words, at)));
  expect(found).toEqual(expect.arrayContaining(places.filter((_, n) => n % 3 === 0)));
});
