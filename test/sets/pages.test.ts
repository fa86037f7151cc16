/** Pages are read completely, however many a call asks for and however large they are. */
import { beforeAll, expect, it } from 'vitest';
import { createPages } from '../../pipeline/sets/pages.ts';
import { pageId } from '../../pipeline/sets/regions.ts';
import { ensureIndexes } from '../../pipeline/stores/indexes.ts';
import { openDatabase } from './database.ts';

const database = openDatabase();
const none = new Uint8Array(0);
const startsOf = (pages: { start: number }[]) => pages.map(({ start }) => start);

beforeAll(() => ensureIndexes(database.db));

it('reads more than the server puts into one reply', async () => {
  const pages = createPages(database.db);
  const level = 'm#1:large.0:';
  const starts = Array.from({ length: 40 }, (_, n) => n * 16);
  const d = new Uint8Array(1 << 20).fill(7);
  await pages.write(starts.map((start) => ({ _id: pageId(level, start), d, k: none })));
  const range = { from: pageId(level, 0), to: pageId(level, 2 ** 28 - 1) };
  expect(startsOf(await pages.readRange(range))).toEqual(starts);
  const read = await pages.read({ level, starts });
  expect(startsOf(read)).toEqual(starts);
  const first = read[0]!;
  expect(first.devicesEnd - first.devices).toBe(d.length);
});

it('reads on behind a reply that the server has cut, however small it is', async () => {
  const pages = createPages(database.db);
  // The first page alone is less than half of a reply's maximum, and the second does not fit behind it.
  const sizes = { 'm#1:cut.0:': 8_000_000, 'm#1:cut.1:': 9_600_000 };
  for (const [level, size] of Object.entries(sizes))
    await pages.write([{ _id: pageId(level, 16), d: new Uint8Array(size), k: none }]);
  const wanted = Object.keys(sizes).map((level) => ({ level, starts: [16] }));
  const read = await Promise.all(wanted.map(pages.read));
  expect(read.flat().map(({ devices, devicesEnd }) => devicesEnd - devices)).toEqual(Object.values(sizes));
});

it('gives whoever asks at the same time the pages of their level, in their order', async () => {
  const pages = createPages(database.db);
  const levels = ['m#1:small.0:', 'm#1:small.1:', 'm#10:small.0:'];
  const starts = Array.from({ length: 3_000 }, (_, n) => n * 32);
  const written = starts.filter((_, n) => n % 3 > 0);
  for (const level of levels)
    await pages.write(written.map((start) => ({ _id: pageId(level, start), d: none, k: none })));
  const wanted = [
    ...levels.map((level) => ({ level, starts })),
    ...levels.map((level, i) => ({ level, starts: starts.slice(i * 10, i * 10 + 40) })),
  ];
  const read = await Promise.all(wanted.map(pages.read));
  for (const [i, one] of wanted.entries()) {
    const expected = one.starts.filter((start) => written.includes(start));
    expect(startsOf(read[i]!)).toEqual(expect.arrayContaining(expected));
    expect(startsOf(read[i]!)).toEqual(startsOf(read[i]!).toSorted((a, b) => a - b));
    expect(new Set(read[i]!.map(({ level }) => level))).toEqual(new Set([one.level]));
  }
});
