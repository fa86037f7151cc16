import { describe, expect, it } from 'vitest';
import { ByteList } from '../../pipeline/formats/byte-list.ts';
import { DevicePairs } from '../../pipeline/formats/device-pairs.ts';
import { countGroups } from '../../pipeline/formats/slot-totals.ts';
import { decodeGroups, encodeGroups } from '../../pipeline/wire/device-groups.ts';
import { testSlots } from '../sets/devices.ts';

const wordsOf = (device: Buffer) => new Uint32Array(new Uint8Array(device).buffer);

/** Half full, so that a search meets many entries that almost match. */
const MANY = 16_384;

describe('pairs of device and key', () => {
  it.each([0, 4, 8, 12])('are told apart by the four bytes at %d alone', (at) => {
    const pairs = new DevicePairs(MANY);
    const device = Buffer.alloc(16, 0xab);
    for (const expected of [MANY, 0]) {
      let added = 0;
      for (let number = 0; number < MANY; number++) {
        device.writeUInt32LE(number, at);
        if (pairs.add(wordsOf(device), 0)) added++;
      }
      expect(added).toBe(expected);
    }
    expect(pairs.size).toBe(MANY);
  });

  it('are told apart by the key alone', () => {
    const pairs = new DevicePairs(MANY);
    const device = Buffer.alloc(16, 0xab);
    for (const expected of [MANY, 0]) {
      let added = 0;
      for (let key = 0; key < MANY; key++) if (pairs.add(wordsOf(device), key)) added++;
      expect(added).toBe(expected);
    }
    expect(pairs.size).toBe(MANY);
  });

  it('come out once each, by slot and then by key', () => {
    const pairs = new DevicePairs(4);
    const names = ['a', 'b', 'c'];
    const expected = new Set<string>();
    for (let number = 0; number < 300; number++) {
      const device = Buffer.alloc(16);
      device.writeUInt32BE(number >> 1, 12);
      pairs.add(wordsOf(device), number % 3);
      expected.add(`${device.toString('hex')} ${names[number % 3]}`);
    }
    const list = new ByteList();
    for (const name of names) list.add(Buffer.from(name));
    const slots = pairs
      .bySlot(list, testSlots)
      .map((slot) => ({ ...slot, groups: decodeGroups(slot.groups) }));
    const found = slots.flatMap(({ groups }) =>
      groups.flatMap(({ key, devices }) =>
        Array.from({ length: devices.length / 16 }, (_, at) => {
          return `${Buffer.from(devices.subarray(16 * at, 16 * at + 16)).toString('hex')} ${key}`;
        }),
      ),
    );
    expect(found).toHaveLength(expected.size);
    expect(new Set(found)).toEqual(expected);
    expect(slots.map(({ slot }) => slot)).toEqual(slots.map(({ slot }) => slot).toSorted((a, b) => a - b));
    for (const { slot: _, groups, ...total } of slots) {
      const counted = { pairs: 0, checksum: 0 };
      countGroups(counted, encodeGroups(groups));
      expect(total).toEqual(counted);
      const order = groups.map(({ key }) => key);
      expect(order).toEqual(order.toSorted());
    }
  });
});
