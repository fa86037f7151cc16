/**
 * 4. A hash of the identifier assigns each device to one of 16 slots. The hash is keyed with the installation's secret, so that
 *    nobody can craft identifiers for one slot. Slots are assigned to the partitions of `ingest.devices`. So one sink owns all data
 *    of a device, and counts of slots can be added up: no device is in two.
 */
import { expect, it } from 'vitest';
import { parseRows } from '../../pipeline/formats/parse-rows.ts';
import { decodeGroups } from '../../pipeline/wire/device-groups.ts';
import { DEFAULT_SLOTS, slotPartition } from '../../schemas/topics.ts';
import { testSlots } from '../sets/devices.ts';
import { asMembers, file, ids } from '../support/rows.ts';

const devices = ids(1_000);
const parsed = parseRows(
  { rows: Buffer.from(file(devices, 'seen')), first_line: 1, delimiter: 0x2c, layout: 'audience' },
  { slots: testSlots, maxRejects: 100 },
);

it('every device is in one slot, and about as many in each', () => {
  const found: string[] = [];
  for (const { slot, groups } of parsed.slots) {
    expect(slot).toBeLessThan(DEFAULT_SLOTS);
    const packed = Buffer.concat(decodeGroups(groups).map((group) => group.devices));
    expect(packed.length / 16).toBeGreaterThan(1_000 / DEFAULT_SLOTS / 3);
    for (let at = 0; at < packed.length; at += 16) found.push(packed.toString('hex', at, at + 16));
  }
  expect(found.length).toBe(devices.length);
  expect(new Set(found)).toEqual(asMembers(devices));
});

it('a slot has one partition, whatever their number', () => {
  for (const partitions of [1, 2, 4, 16])
    for (let slot = 0; slot < DEFAULT_SLOTS; slot++)
      expect(slotPartition(slot, partitions)).toBe(slot % partitions);
});
