import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createSample, within } from '../../pipeline/stages/sink/key-ranges.ts';
import { fromHex, numberedDevices, toHex } from '../sets/devices.ts';

it('ranges are disjoint and leave nothing out, whatever the identifiers', () => {
  const identifier = fc.stringMatching(/^(00|01|ff)[0-9a-f]{30}$/);
  const groups = fc.array(fc.array(identifier, { maxLength: 40 }), { maxLength: 8 });
  fc.assert(
    fc.property(groups, fc.integer({ min: 1, max: 12 }), (hex, wanted) => {
      const sample = createSample(64);
      for (const group of hex) sample.add(fromHex(group));
      const ranges = sample.ranges(wanted);
      const all = fromHex(hex.flat());
      const found = ranges.flatMap((range) => toHex(within(all, range)));
      expect(found.sort()).toEqual(hex.flat().sort());
      expect(ranges.length).toBeLessThanOrEqual(wanted);
    }),
  );
});

it('identifiers that all begin alike are cut into ranges of about the same size', () => {
  const devices = numberedDevices(0, 10_000);
  const sample = createSample(16_000);
  for (let at = 0; at < devices.length; at += 160) sample.add(devices.subarray(at, at + 160));
  const sizes = sample.ranges(10).map((range) => within(devices, range).length / 16);
  expect(sizes).toHaveLength(10);
  for (const size of sizes) expect(size).toBeGreaterThan(800);
  for (const size of sizes) expect(size).toBeLessThan(1_200);
});
