/**
 * Encoding of devices in a page: 16 bytes each, and their keys. A key is a varint of twice the difference to the previous key, plus one if
 * another key follows; a device without a key is a zero. If no device has a key, there are no key bytes.
 */
import type { DeviceHash } from '../formats/device-hash.ts';
import { WORDS } from '../formats/identifier.ts';
import { addressesOf, type Devices, firstKey } from './devices.ts';

interface Encoded {
  devices: Uint8Array;
  keys: Uint8Array;
}

const MAX_VARINT = 5;
const NONE = new Uint8Array(0);

/** Reused for every page; results are copied. */
let scratch = new Uint8Array(1 << 16);

/** Encodes devices `from` to `to`, exclusive. */
export function encode(sorted: Devices, from = 0, to = sorted.count): Encoded {
  const { words, ends, keys } = sorted;
  const devices = new Uint8Array(words.buffer, words.byteOffset + from * 16, (to - from) * 16);
  const first = firstKey(sorted, from);
  const count = firstKey(sorted, to) - first;
  if (count === 0) return { devices, keys: NONE };
  const most = count * MAX_VARINT + to - from;
  if (scratch.length < most) scratch = new Uint8Array(2 * most);
  let at = 0;
  for (let n = from, key = first; n < to; n++) {
    const end = ends[n]!;
    if (key === end) scratch[at++] = 0;
    for (let previous = 0; key < end; key++) {
      // Up to 33 bits: arithmetic instead of shifts.
      let value = (keys[key]! - previous) * 2 + (key + 1 < end ? 1 : 0);
      previous = keys[key]!;
      while (value >= 0x80) {
        scratch[at++] = (value % 0x80) | 0x80;
        value = Math.floor(value / 0x80);
      }
      scratch[at++] = value;
    }
  }
  return { devices, keys: scratch.slice(0, at) };
}

/** The keys of one device. */
export const encodeKeys = (keys: number[]): Uint8Array =>
  encode({
    count: 1,
    words: new Uint32Array(WORDS),
    addresses: new Uint32Array(1),
    ends: Uint32Array.of(keys.length),
    keys: Uint32Array.from(keys),
  }).keys;

/** Reads the key lists of devices sequentially. */
export function createKeyReader(bytes: Uint8Array, from = 0, to = bytes.length) {
  let at = from;
  return {
    /** Offset of the next device's keys. */
    position: (): number => at,
    /** The keys of the next device. */
    next(onKey?: (key: number) => void): void {
      if (from === to) return;
      for (let key = 0, more = 1; more === 1; ) {
        let byte = bytes[at++]!;
        more = byte & 1;
        if (byte < 0x80) key += byte >> 1;
        else {
          // Up to 33 bits: arithmetic instead of shifts.
          let value = byte & 0x7f;
          for (let scale = 0x80; byte >= 0x80; scale *= 0x80) {
            byte = bytes[at++]!;
            value += (byte & 0x7f) * scale;
          }
          key += Math.floor(value / 2);
        }
        if (key > 0) onKey?.(key);
      }
    },
    skip(devices: number): void {
      if (from === to) return;
      // The lowest bit of a number's first byte is 0 at the end of a list.
      while (devices > 0) {
        if ((bytes[at]! & 1) === 0) devices--;
        while (bytes[at++]! >= 0x80);
      }
    },
  };
}

/** Copies devices into aligned words, because a document's bytes are not aligned. */
export function wordsOf(devices: Uint8Array): Uint32Array {
  const words = new Uint32Array(devices.length / 4);
  new Uint8Array(words.buffer).set(devices);
  return words;
}

export function decode({ devices, keys: bytes }: Encoded, hash: DeviceHash): Devices {
  const words = wordsOf(devices);
  const count = words.length / WORDS;
  const ends = new Uint32Array(count);
  // A key takes at least one byte.
  const keys = new Uint32Array(bytes.length);
  const reader = createKeyReader(bytes);
  let end = 0;
  const add = (key: number) => {
    keys[end++] = key;
  };
  for (let n = 0; n < count; n++) {
    reader.next(add);
    ends[n] = end;
  }
  return { count, words, addresses: addressesOf(words, hash), ends, keys: keys.subarray(0, end) };
}
