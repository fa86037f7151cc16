import { expect, it } from 'vitest';
import { cutByAddress, RANGES } from '../../pipeline/formats/address-ranges.ts';
import { addressOf } from '../../pipeline/formats/identifier.ts';
import { decodeGroups, encodeGroups } from '../../pipeline/wire/device-groups.ts';
import { framedIn } from '../../pipeline/wire/framed-devices.ts';
import type { ValidatedDevices } from '../../schemas/topics.ts';
import { testPlacement } from '../sets/devices.ts';

/** Devices that differ in all of their bytes. */
const device = (n: number) => Buffer.from(Uint32Array.of(n, n * 2_654_435_761, n ^ 0x5bd1e995, ~n).buffer);
const devicesOf = (from: number, count: number) =>
  Buffer.concat(Array.from({ length: count }, (_, n) => device(from + n)));
const message = (batch: number, groups: Record<string, Buffer>): ValidatedDevices => ({
  job: 300,
  file: 1_000_000,
  batch,
  slot: 15,
  part: 2,
  groups: encodeGroups(Object.entries(groups).map(([key, devices]) => ({ key, devices }))),
});
const given = [
  message(0, { 'event-1': devicesOf(0, 5_000), '': devicesOf(5_000, 1), è: devicesOf(0, 300) }),
  message(1, { 'event-1': devicesOf(7_000, 1) }),
  message(70_000, { 'event-2': devicesOf(8_000, 10_000) }),
];

const { hash } = testPlacement;
const wordsOf = (bytes: Uint8Array) => new Uint32Array(Uint8Array.from(bytes).buffer);
/** The range of the first device. */
const rangeOf = (devices: Uint8Array) =>
  Math.floor((addressOf(hash(wordsOf(devices), 0)) / 2 ** 28) * RANGES);

/** Each (batch, key, device), in some order. */
function pairsOf(all: Iterable<ValidatedDevices>): string[] {
  const pairs: string[] = [];
  for (const { groups, ...numbers } of all)
    for (const { key, devices } of decodeGroups(groups))
      for (let at = 0; at < devices.length; at += 16)
        pairs.push(`${Object.values(numbers)} ${key} ${Buffer.from(devices).toString('hex', at, at + 16)}`);
  return pairs.sort();
}

it('every device is in one range, the one of its address, with its key and batch', async () => {
  const ranges = await cutByAddress(given, hash);
  const found = ranges.map((pieces) => pieces.flatMap((piece) => [...framedIn(piece)]));
  expect(pairsOf(found.flat())).toEqual(pairsOf(given));
  const misplaced = found.flatMap((parts, range) =>
    parts.flatMap(({ groups }) => decodeGroups(groups)).filter(({ devices }) => rangeOf(devices) !== range),
  );
  expect(misplaced).toEqual([]);
});

it('one device that comes a hundred thousand times is cut into pieces', async () => {
  const same = Buffer.concat(Array.from({ length: 1_000 }, () => device(1)));
  const messages = Array.from({ length: 100 }, (_, batch) => message(batch, { key: same }));
  const pieces = (await cutByAddress(messages, hash)).flat();
  expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(100_000);
  expect(pairsOf(pieces.flatMap((piece) => [...framedIn(piece)]))).toHaveLength(100_000);
});
