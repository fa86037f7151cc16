import { expect, it } from 'vitest';
import { cutByAddress, RANGES } from '../../pipeline/formats/address-ranges.ts';
import { addressOf } from '../../pipeline/formats/identifier.ts';
import { decode, encode, wireHeader } from '../../pipeline/wire/codec.ts';
import { decodeGroups, encodeGroups } from '../../pipeline/wire/device-groups.ts';
import { framedIn } from '../../pipeline/wire/framed-devices.ts';
import { messages, type ValidatedDevices, versionsOf } from '../../schemas/topics.ts';
import { testPlacement } from '../sets/devices.ts';

/** Numbers that differ in all of their bytes. */
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
/** Of the first of them. */
const rangeOf = (devices: Uint8Array) =>
  Math.floor((addressOf(hash(wordsOf(devices), 0)) / 2 ** 28) * RANGES);

/** Each batch, key and device, in some order. */
function pairsOf(all: Iterable<ValidatedDevices>): string[] {
  const pairs: string[] = [];
  for (const { groups, ...numbers } of all)
    for (const { key, devices } of decodeGroups(groups))
      for (let at = 0; at < devices.length; at += 16)
        pairs.push(`${Object.values(numbers)} ${key} ${Buffer.from(devices).toString('hex', at, at + 16)}`);
  return pairs.sort();
}

it('every device is in one range, the one of its address, with its key and batch', () => {
  const ranges = cutByAddress(given, hash);
  const found = ranges.map((pieces) => pieces.flatMap((piece) => [...framedIn(piece)]));
  expect(pairsOf(found.flat())).toEqual(pairsOf(given));
  const misplaced = found.flatMap((parts, range) =>
    parts.flatMap(({ groups }) => decodeGroups(groups)).filter(({ devices }) => rangeOf(devices) !== range),
  );
  expect(misplaced).toEqual([]);
});

it('one device that comes a hundred thousand times is cut into pieces', () => {
  const same = Buffer.concat(Array.from({ length: 1_000 }, () => device(1)));
  const pieces = cutByAddress(
    Array.from({ length: 100 }, (_, batch) => message(batch, { key: same })),
    hash,
  ).flat();
  expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(100_000);
  expect(pairsOf(pieces.flatMap((piece) => [...framedIn(piece)]))).toHaveLength(100_000);
});

const frame = (bytes: Buffer) => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
};

it('an older version reads what is framed, and is read', () => {
  for (const piece of cutByAddress(given, hash).flat()) {
    const read: ValidatedDevices[] = [];
    for (let at = 0; at < piece.length; at += 4 + piece.readUInt32BE(at)) {
      const bytes = piece.subarray(at + 4, at + 4 + piece.readUInt32BE(at));
      read.push(decode(bytes, ['ValidatedDevices']).value as ValidatedDevices);
    }
    expect(pairsOf(read)).toEqual(pairsOf(framedIn(piece)));
  }
  const whole = given.map((one) => encode('ValidatedDevices', one));
  expect([...framedIn(Buffer.concat(whole.map(frame)))]).toEqual(given);

  // The first version has no further batches, and so not the end of an array of them.
  const [first] = versionsOf('ValidatedDevices').filter(({ id }) => id !== messages.ValidatedDevices.id);
  const header = wireHeader('ValidatedDevices');
  header.writeInt32BE(first!.id, 1);
  const old = whole.map((bytes) => Buffer.concat([header, bytes.subarray(header.length, -1)]));
  expect([...framedIn(Buffer.concat(old.map(frame)))]).toEqual(given);
});
