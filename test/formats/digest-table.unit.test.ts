import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { createDigestTable, digestWords } from '../../pipeline/formats/digest-table.ts';

const COUNT = 5_000;
const aligned = (bytes: Uint8Array) => new Uint8Array(bytes);

test('every wanted digest is found, and no other one, whatever they have in common', () => {
  const wanted = aligned(randomBytes(32 * COUNT));
  // All share a prefix, and so a place in the table; they differ in one later byte.
  for (let n = 0; n < 100; n++) wanted.fill(7, 32 * n, 32 * n + 31);
  for (let n = 0; n < 100; n++) wanted[32 * n + 31] = n;
  const table = createDigestTable(wanted);
  const words = digestWords(wanted);
  for (let n = 0; n < COUNT; n++) expect(table.find(words, n)).toBe(n);
  const others = aligned(wanted);
  for (let n = 0; n < COUNT; n++) others[32 * n + 31]! ^= 0x80;
  for (let n = 0; n < COUNT; n++) expect(table.find(digestWords(others), n)).toBe(-1);
  expect(table.repeated.size).toBe(0);
});

test('of digests that are the same, the first is found, and the others are known', () => {
  const one = randomBytes(32);
  const other = randomBytes(32);
  const table = createDigestTable(aligned(Buffer.concat([other, one, one, other, one])));
  expect(table.find(digestWords(aligned(one)), 0)).toBe(1);
  expect([...table.repeated]).toEqual([
    [2, 1],
    [3, 0],
    [4, 1],
  ]);
});

test('an empty list finds nothing', () => {
  expect(createDigestTable(new Uint8Array(0)).find(new Uint32Array(8), 0)).toBe(-1);
});
