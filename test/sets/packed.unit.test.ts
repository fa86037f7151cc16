import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  countDistinct,
  countMembers,
  isPackedSet,
  markMembers,
  sortDistinct,
  union,
} from '../../pipeline/sets/packed.ts';
import { compareOffsets, viewOf } from '../../pipeline/sets/packed-order.ts';
import { overlapsRange, withoutMarked } from '../../pipeline/sets/packed-search.ts';
import { fromHex, numberedDevice, numberedDevices, randomDevices, sortedHex, toHex } from './devices.ts';

/** Few distinct bytes and shared beginnings, so that ties, duplicates and neighbours come up all the time. */
const device = fc.oneof(
  fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => Buffer.from(bytes).toString('hex')),
  fc.nat(40).map((n) => '00'.repeat(15) + n.toString(16).padStart(2, '0')),
  fc.nat(300).map((n) => `${'ab'.repeat(4)}${n.toString(16).padStart(8, '0')}${'ff'.repeat(8)}`),
  fc.nat(3).map((n) => `${'7f80ff00'.slice(n * 2, n * 2 + 2)}${'00'.repeat(15)}`),
);
const devices = fc.array(device, { maxLength: 120 });
const packedSet = devices.map((hex) => fromHex(sortedHex(hex)));
const subtract = (a: Uint8Array, b: Uint8Array) => {
  const bits = new Uint8Array(a.byteLength / 16);
  return withoutMarked(a, bits, markMembers(a, b, bits));
};
/** As the driver hands bytes over: somewhere inside a larger buffer, on no boundary. */
const shifted = (bytes: Uint8Array) => {
  const around = new Uint8Array(bytes.byteLength + 7);
  around.set(bytes, 3);
  return around.subarray(3, 3 + bytes.byteLength);
};

describe('sortDistinct', () => {
  it('gives what sorting a Set of hex strings gives', () => {
    fc.assert(
      fc.property(devices, (hex) => {
        const input = shifted(fromHex(hex));
        expect(toHex(sortDistinct(input))).toEqual(sortedHex(hex));
        expect(toHex(input)).toEqual(hex);
      }),
    );
  });

  const many = Array.from({ length: 20_000 }, (_, i) => numberedDevice(i));
  const lastBytes = Array.from(
    { length: 256 },
    (_, i) => 'c0ffee'.repeat(5) + (255 - i).toString(16).padStart(2, '0'),
  );
  const prefixed = many.map((hex) => 'dead'.repeat(6) + hex.slice(0, 8));
  it.each([
    ['nothing', []],
    ['one device', many.slice(0, 1)],
    ['two equal devices', [many[0]!, many[0]!]],
    ['a sorted set', sortedHex(many)],
    ['a reversed set', sortedHex(many).reverse()],
    ['all equal', many.map(() => many[0]!)],
    ['random devices, each twice', [...many, ...many]],
    ['values that differ in the last byte', lastBytes],
    ['a shared prefix of 12 bytes', prefixed],
    ['words that tie one after the other', many.map((hex) => hex.slice(0, 1).repeat(24) + hex.slice(0, 8))],
    ['sorted but for a duplicate at the end', [...sortedHex(many), sortedHex(many).at(-1)!]],
  ])('sorts %s', (_, hex) => {
    expect(toHex(sortDistinct(fromHex(hex)))).toEqual(sortedHex(hex));
  });

  it('returns memory of its own, also for a Buffer that is sorted already', () => {
    const input = Buffer.from(numberedDevices(0, 5));
    const sorted = sortDistinct(input);
    input.fill(0);
    expect(toHex(sorted)).toEqual(toHex(numberedDevices(0, 5)));
    expect(sorted.buffer.byteLength).toBe(5 * 16);
  });

  it('refuses bytes that are not whole devices', () => {
    expect(() => sortDistinct(new Uint8Array(17))).toThrow(RangeError);
  });
});

describe('packed sets against plain Sets', () => {
  it('union and countDistinct', () => {
    fc.assert(
      fc.property(fc.array(packedSet, { maxLength: 9 }), (sets) => {
        const expected = sortedHex(sets.flatMap(toHex));
        expect(toHex(union(sets.map(shifted)))).toEqual(expected);
        expect(countDistinct(sets)).toBe(expected.length);
      }),
    );
  });

  it('withoutMarked, markMembers, countMembers', () => {
    fc.assert(
      fc.property(packedSet, packedSet, (a, b) => {
        const inB = new Set(toHex(b));
        const bits = new Uint8Array(a.byteLength / 16);
        const found = markMembers(shifted(a), shifted(b), bits);
        expect([...bits]).toEqual(toHex(a).map((hex) => (inB.has(hex) ? 1 : 0)));
        expect(found).toBe(toHex(a).filter((hex) => inB.has(hex)).length);
        expect(countMembers(b, a)).toBe(found);
        expect(toHex(subtract(a, b))).toEqual(toHex(a).filter((hex) => !inB.has(hex)));
      }),
    );
  });

  it('finds the few among the many, whichever side they are on', () => {
    const many = numberedDevices(0, 10_000);
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(20_000), { maxLength: 60 }), (numbers) => {
        const few = fromHex(sortedHex(numbers.map(numberedDevice)));
        const common = numbers.filter((number) => number < 10_000).length;
        expect(countMembers(few, many)).toBe(common);
        expect(countMembers(many, few)).toBe(common);
        expect(subtract(many, few).byteLength / 16).toBe(10_000 - common);
      }),
      { numRuns: 30 },
    );
  });

  it('keeps bits that were set before', () => {
    const bits = new Uint8Array([1, 0, 0]);
    const three = numberedDevices(0, 3);
    expect(markMembers(three, three.subarray(16, 32), bits)).toBe(1);
    expect([...bits]).toEqual([1, 1, 0]);
  });

  it('compareOffsets orders as the hex strings do', () => {
    fc.assert(
      fc.property(device, device, (a, b) => {
        const order = compareOffsets(viewOf(fromHex([a])), 0, viewOf(fromHex([b])), 0);
        expect(Math.sign(order)).toBe(a < b ? -1 : a > b ? 1 : 0);
      }),
    );
  });

  it('isPackedSet knows a sorted list without duplicates', () => {
    fc.assert(
      fc.property(devices, (hex) => {
        expect(isPackedSet(fromHex(hex))).toBe(hex.join() === sortedHex(hex).join());
      }),
    );
  });

  it('overlapsRange is true exactly when a device lies in the range', () => {
    fc.assert(
      fc.property(packedSet, device, device, (set, a, b) => {
        const [first, last] = [a, b].sort() as [string, string];
        const expected = toHex(set).some((hex) => hex >= first && hex <= last);
        expect(overlapsRange(set, fromHex([first]), fromHex([last]))).toBe(expected);
      }),
    );
  });
});

it('sorts a million devices', () => {
  const devices = randomDevices(1_000_000, 5);
  const reversed = new Uint8Array(devices.byteLength);
  for (let at = 0; at < devices.byteLength; at += 16) {
    reversed.set(devices.subarray(at, at + 16), devices.byteLength - 16 - at);
  }
  expect(Buffer.compare(sortDistinct(reversed), devices)).toBe(0);
});
