/** Devices for tests, and the plain sets of hex strings to compare them with. */
import { createCipheriv, createHash } from 'node:crypto';
import { KEY_BYTES } from '../../pipeline/formats/device-hash.ts';
import type { Slots } from '../../pipeline/formats/device-pairs.ts';
import { type Devices, firstKey } from '../../pipeline/sets/devices.ts';
import { type Placement, placementBy } from '../../pipeline/sets/placement.ts';
import { Pairs, sortPairs } from '../../pipeline/sets/sort-pairs.ts';
import { DEFAULT_SLOTS } from '../../schemas/topics.ts';

const DEVICE_BYTES = 16;

/** The placement key of tests that store devices themselves. */
export const testKey = createHash('sha512').update('a key').digest().subarray(0, KEY_BYTES);
export const testPlacement = placementBy(testKey);
export const testSlots: Slots = { count: DEFAULT_SLOTS, hash: testPlacement.hash };

export function toHex(devices: Uint8Array): string[] {
  const hex: string[] = [];
  for (let at = 0; at < devices.byteLength; at += DEVICE_BYTES) {
    hex.push(Buffer.from(devices.buffer, devices.byteOffset + at, DEVICE_BYTES).toString('hex'));
  }
  return hex;
}

export function fromHex(hex: Iterable<string>): Uint8Array {
  return new Uint8Array(Buffer.from([...hex].join(''), 'hex'));
}

/** The device with this number: deterministic, and far from its neighbours. */
export function numberedDevice(number: number): string {
  return createHash('md5').update(String(number)).digest('hex');
}

export function numberedDevices(from: number, to: number, step = 1): Uint8Array {
  const hex: string[] = [];
  for (let number = from; number < to; number += step) hex.push(numberedDevice(number));
  return fromHex(hex);
}

/** Many devices at once, deterministic for a seed; incompressible, like real ones. */
export function randomDevices(count: number, seed: number): Uint8Array {
  const key = createHash('md5').update(`seed ${seed}`).digest();
  return createCipheriv('aes-128-ctr', key, Buffer.alloc(16)).update(Buffer.alloc(count * DEVICE_BYTES));
}

type Group = { devices: Uint8Array; key?: number };

/** Sorted as stored, each group with its key; 0 means no key. */
export function keyedBy({ hash }: Pick<Placement, 'hash'>, ...groups: Group[]): Devices {
  const pairs = new Pairs();
  for (const { devices, key = 0 } of groups) pairs.add(devices, 0, devices.length / DEVICE_BYTES, key, 0);
  return sortPairs(pairs, hash).devices;
}

export const keyed = (...groups: Group[]): Devices => keyedBy(testPlacement, ...groups);

/** The keys of each device. */
export function toPlain(devices: Devices): Map<string, number[]> {
  const bytes = new Uint8Array(devices.words.buffer, devices.words.byteOffset, devices.words.byteLength);
  return new Map(
    toHex(bytes).map((device, n) => [device, [...devices.keys.slice(firstKey(devices, n), devices.ends[n])]]),
  );
}

export const onePart = (devices: Devices) =>
  async function* () {
    yield devices;
  };
