import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { concatenate, merge, positionOf, slice } from '../../pipeline/sets/devices.ts';
import { createKeyReader, decode, encode } from '../../pipeline/sets/page-format.ts';
import { Pairs, sortPairs, sortPairsInTurns } from '../../pipeline/sets/sort-pairs.ts';
import { fromHex, keyed, numberedDevice, randomDevices, testPlacement, toPlain } from './devices.ts';

const MAX_KEY = 2 ** 32 - 1;
/** Triples of a device's number, a key (0 means none) and a file. */
const pairsOf = (devices: number, maxLength: number, size?: 'max') =>
  fc.array(
    fc.record({
      device: fc.integer({ min: 0, max: devices }),
      key: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: MAX_KEY })),
      file: fc.integer({ min: 0, max: 3 }),
    }),
    { maxLength, ...(size ? { size } : {}) },
  );
/** Also many pairs at one address. */
const pairs = fc.oneof(pairsOf(60, 200), pairsOf(1, 200, 'max'));
type Pair = { device: number; key: number; file: number };

function sort(all: Pair[]) {
  const columns = new Pairs();
  for (const { device, key, file } of all) columns.add(fromHex([numberedDevice(device)]), 0, 1, key, file);
  return sortPairs(columns, testPlacement.hash);
}

function plain(all: Pair[]): Map<string, number[]> {
  const keys = new Map<string, Set<number>>();
  for (const { device, key } of all) {
    const own = keys.get(numberedDevice(device)) ?? new Set();
    keys.set(numberedDevice(device), key === 0 ? own : own.add(key));
  }
  return new Map([...keys].map(([device, own]) => [device, [...own].sort((a, b) => a - b)]));
}
const sorted = <V>(map: Map<string, V>) => [...map].sort(([a], [b]) => (a < b ? -1 : 1));

const asBuffer = ({ buffer, byteOffset, byteLength }: Uint32Array) =>
  Buffer.from(buffer, byteOffset, byteLength);

describe('pairs of devices and keys', () => {
  it('are sorted by address, each device once, with its keys; and counted by file', () => {
    fc.assert(
      fc.property(pairs, (all) => {
        const { devices, filePairs } = sort(all);
        expect([...devices.addresses]).toEqual([...devices.addresses].sort((a, b) => a - b));
        expect(sorted(toPlain(devices))).toEqual(sorted(plain(all)));
        const distinct = new Set(all.map(({ device, key, file }) => `${file} ${device} ${key}`));
        const byFile = new Map<number, number>();
        for (const one of distinct) {
          const file = Number(one.split(' ')[0]);
          byFile.set(file, (byFile.get(file) ?? 0) + 1);
        }
        expect(filePairs).toEqual(byFile);
      }),
    );
  });

  it('are the same when sorted in turns, two large sorts at once; other work goes on in between', async () => {
    const COUNT = 100_000;
    const large = (seed: number) => {
      const columns = new Pairs();
      // Two files that share half of their devices.
      const devices = randomDevices(COUNT, seed);
      columns.add(devices, 0, COUNT, 1, 0);
      columns.add(devices, devices.length / 2, COUNT / 2, 2, 1);
      return columns;
    };
    const seeds = [1, 2];
    const expected = seeds.map((seed) => sortPairs(large(seed), testPlacement.hash));
    let turns = 0;
    let next: NodeJS.Immediate;
    const onTurn = () => {
      turns++;
      next = setImmediate(onTurn);
    };
    onTurn();
    const inTurns = await Promise.all(seeds.map((seed) => sortPairsInTurns(large(seed), testPlacement.hash)));
    clearImmediate(next!);
    expect(turns).toBeGreaterThan(10);
    for (const [i, { devices, filePairs }] of inTurns.entries()) {
      expect(filePairs).toEqual(expected[i]!.filePairs);
      expect(devices.count).toBe(COUNT);
      for (const part of ['words', 'addresses', 'ends', 'keys'] as const)
        expect(Buffer.compare(asBuffer(devices[part]), asBuffer(expected[i]!.devices[part]))).toBe(0);
    }
  });

  it('are the same when they were merged, cut and joined again', () => {
    fc.assert(
      fc.property(pairs, pairs, pairs, fc.integer({ min: 0, max: 2 ** 28 }), (a, b, c, address) => {
        const merged = merge([a, b, c].map((some) => sort(some).devices));
        expect(sorted(toPlain(merged))).toEqual(sorted(plain([...a, ...b, ...c])));
        const cut = positionOf(merged, address);
        const halves = [slice(merged, 0, cut), slice(merged, cut, merged.count)];
        expect(halves[1]!.addresses.every((one) => one >= address)).toBe(true);
        expect(toPlain(concatenate(halves))).toEqual(toPlain(merged));
      }),
    );
  });

  it('are stored and read as they were', () => {
    fc.assert(
      fc.property(pairs, (all) => {
        const { devices } = sort(all);
        const encoded = encode(devices);
        expect(toPlain(decode(encoded, testPlacement.hash))).toEqual(toPlain(devices));
        const lists = [...toPlain(devices).values()];
        for (let n = 0; n < lists.length; n++) {
          const reader = createKeyReader(encoded.keys);
          const found: number[] = [];
          reader.skip(n);
          reader.next((key) => found.push(key));
          expect(found).toEqual(lists[n]);
        }
      }),
    );
  });

  it('a thousand devices with one key each take 3 bytes more than their identifiers', () => {
    const devices = fromHex(Array.from({ length: 1_000 }, (_, n) => numberedDevice(n)));
    expect(encode(keyed({ devices, key: 1_000_000 })).keys).toHaveLength(3_000);
    expect(encode(keyed({ devices })).keys).toHaveLength(0);
  });
});
