import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  addPacked,
  countGroups,
  isSameTotal,
  noTotals,
  packTotals,
  unpackTotals,
} from '../../pipeline/formats/slot-totals.ts';
import { encodeGroups } from '../../pipeline/wire/device-groups.ts';

const group = fc.record({
  key: fc.string({ unit: 'grapheme', maxLength: 8 }),
  devices: fc
    .nat({ max: 20 })
    .chain((count) => fc.uint8Array({ minLength: 16 * count, maxLength: 16 * count })),
});
const groups = fc.array(group, { maxLength: 6 });
const totalOf = (some: { key: string; devices: Uint8Array }[]) => {
  const total = { pairs: 0, checksum: 0 };
  countGroups(total, encodeGroups(some));
  return total;
};

it('does not depend on the order, on how the devices are cut, or on where they lie in memory', () => {
  fc.assert(
    fc.property(groups, fc.integer({ min: 1, max: 3 }), (some, shift) => {
      const pieces = some
        .flatMap(({ key, devices }) =>
          Array.from({ length: devices.length / 16 }, (_, n) => {
            const moved = Buffer.alloc(16 + shift);
            moved.set(devices.subarray(16 * n, 16 * n + 16), shift);
            return { key, devices: moved.subarray(shift) };
          }),
        )
        .reverse();
      expect(isSameTotal(totalOf(pieces), totalOf(some))).toBe(true);
    }),
  );
});

it('tells a lost device, another device and another key', () => {
  const some = fc.record({
    key: fc.constantFrom('1', '2', ''),
    devices: fc.uint8Array({ minLength: 64, maxLength: 64 }),
  });
  fc.assert(
    fc.property(some, fc.nat({ max: 63 }), (one, at) => {
      const whole = totalOf([one]);
      const other = Uint8Array.from(one.devices);
      other[at]! ^= 1;
      expect(isSameTotal(totalOf([{ ...one, devices: one.devices.subarray(16) }]), whole)).toBe(false);
      expect(isSameTotal(totalOf([{ ...one, devices: other }]), whole)).toBe(false);
    }),
  );
  const devices = Uint8Array.from({ length: 16 }, (_, n) => n + 1);
  expect(isSameTotal(totalOf([{ key: '1', devices }]), totalOf([{ key: '2', devices }]))).toBe(false);
});

it('is packed and unpacked as it was, and adds up', () => {
  const total = fc.record({ pairs: fc.nat({ max: 2 ** 40 }), checksum: fc.nat({ max: 0xffffffff }) });
  fc.assert(
    fc.property(fc.array(total, { minLength: 16, maxLength: 16 }), (totals) => {
      expect(unpackTotals(packTotals(totals))).toEqual(totals);
      const twice = noTotals();
      addPacked(twice, packTotals(totals));
      addPacked(twice, packTotals(totals));
      expect(twice.map(({ pairs }) => pairs)).toEqual(totals.map(({ pairs }) => 2 * pairs));
    }),
  );
});
