/**
 * Devices in memory with their keys: distinct, sorted by address, then by identifier; keys ascending and distinct. The address is the lower
 * 28 bits of the hash, below the slot; a page or a region covers a range of addresses.
 */
import type { DeviceHash } from '../formats/device-hash.ts';
import { addressOf, WORDS } from '../formats/identifier.ts';

export interface Devices {
  readonly count: number;
  /** Four words per device, in memory byte order. */
  readonly words: Uint32Array;
  readonly addresses: Uint32Array;
  /** The keys of device n are `keys[ends[n - 1]]` to `keys[ends[n]]`, exclusive. */
  readonly ends: Uint32Array;
  readonly keys: Uint32Array;
}

export const noDevices: Devices = {
  count: 0,
  words: new Uint32Array(0),
  addresses: new Uint32Array(0),
  ends: new Uint32Array(0),
  keys: new Uint32Array(0),
};

/** The same memory, as bytes. */
export const asBytes = ({ buffer, byteOffset, byteLength }: Uint32Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

/** Approximate size in memory and, encoded, in a document. */
export const sizeOf = ({ count, keys }: Devices): number => count * 16 + keys.length * 3;

export const firstKey = (devices: Devices, n: number): number => (n === 0 ? 0 : devices.ends[n - 1]!);

export function compare(a: Devices, i: number, b: Devices, j: number): number {
  return a.addresses[i]! - b.addresses[j]! || compareWords(a.words, i * WORDS, b.words, j * WORDS);
}

export function compareWords(a: Uint32Array, i: number, b: Uint32Array, j: number): number {
  return a[i]! - b[j]! || a[i + 1]! - b[j + 1]! || a[i + 2]! - b[j + 2]! || a[i + 3]! - b[j + 3]!;
}

export function addressesOf(words: Uint32Array, hash: DeviceHash): Uint32Array {
  const addresses = new Uint32Array(words.length / WORDS);
  for (let n = 0; n < addresses.length; n++) addresses[n] = addressOf(hash(words, n * WORDS));
  return addresses;
}

/** The first device at or after this address. */
export function positionOf({ addresses, count }: Devices, address: number, from = 0): number {
  let low = from;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (addresses[middle]! < address) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The first device at this address that is not less than the identifier. */
export function positionOfDevice({ addresses, words, count }: Devices, address: number, device: Uint32Array) {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const order = addresses[middle]! - address || compareWords(words, middle * WORDS, device, 0);
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Devices `from` to `to`, exclusive. Shares the words. */
export function slice(devices: Devices, from: number, to: number): Devices {
  if (from === 0 && to === devices.count) return devices;
  const start = firstKey(devices, from);
  const ends = devices.ends.slice(from, to);
  for (let n = 0; n < ends.length; n++) ends[n]! -= start;
  return {
    count: to - from,
    words: devices.words.subarray(from * WORDS, to * WORDS),
    addresses: devices.addresses.subarray(from, to),
    ends,
    keys: devices.keys.subarray(start, firstKey(devices, to)),
  };
}

/** Writes devices sequentially, with room for `devices` devices and `keys` keys. */
export function createWriter(devices: number, keys: number) {
  const words = new Uint32Array(devices * WORDS);
  const addresses = new Uint32Array(devices);
  const ends = new Uint32Array(devices);
  const allKeys = new Uint32Array(keys);
  let count = 0;
  let end = 0;
  return {
    begin(source: Devices, n: number): void {
      const from = n * WORDS;
      const to = count * WORDS;
      for (let word = 0; word < WORDS; word++) words[to + word] = source.words[from + word]!;
      addresses[count] = source.addresses[n]!;
      ends[count++] = end;
    },
    key(key: number): void {
      allKeys[end++] = key;
      ends[count - 1] = end;
    },
    finish: (): Devices => ({
      count,
      words: words.subarray(0, count * WORDS),
      addresses: addresses.subarray(0, count),
      ends: ends.subarray(0, count),
      keys: allKeys.subarray(0, end),
    }),
  };
}

/** The union of all, by repeatedly merging neighbours in size. */
export function merge(parts: readonly Devices[]): Devices {
  let round = parts.filter(({ count }) => count > 0).sort((a, b) => a.count - b.count);
  while (round.length > 1) {
    const next: Devices[] = [];
    for (let i = 0; i < round.length; i += 2)
      next.push(round[i + 1] ? mergeTwo(round[i]!, round[i + 1]!) : round[i]!);
    round = next;
  }
  return round[0] ?? noDevices;
}

/** The innermost loop of every merge: using the arrays directly, it is up to twice as fast as with `createWriter`. */
function mergeTwo(a: Devices, b: Devices): Devices {
  if (compare(a, a.count - 1, b, 0) < 0) return concatenate([a, b]);
  if (compare(b, b.count - 1, a, 0) < 0) return concatenate([b, a]);
  const { count: countA, words: wordsA, addresses: addressesA, ends: endsA, keys: keysA } = a;
  const { count: countB, words: wordsB, addresses: addressesB, ends: endsB, keys: keysB } = b;
  const words = new Uint32Array((countA + countB) * WORDS);
  const addresses = new Uint32Array(countA + countB);
  const ends = new Uint32Array(countA + countB);
  const keys = new Uint32Array(keysA.length + keysB.length);
  let count = 0;
  let end = 0;
  for (let i = 0, j = 0, x = 0, y = 0; i < countA || j < countB; count++) {
    const order =
      i === countA
        ? 1
        : j === countB
          ? -1
          : addressesA[i]! - addressesB[j]! || compareWords(wordsA, i * WORDS, wordsB, j * WORDS);
    const source = order <= 0 ? wordsA : wordsB;
    const from = (order <= 0 ? i : j) * WORDS;
    const to = count * WORDS;
    words[to] = source[from]!;
    words[to + 1] = source[from + 1]!;
    words[to + 2] = source[from + 2]!;
    words[to + 3] = source[from + 3]!;
    addresses[count] = order <= 0 ? addressesA[i]! : addressesB[j]!;
    // Only the keys of the device that comes first, or of both if they are equal.
    const endX = order <= 0 ? endsA[i++]! : x;
    const endY = order >= 0 ? endsB[j++]! : y;
    while (x < endX || y < endY) {
      const left = x < endX ? keysA[x]! : Number.POSITIVE_INFINITY;
      const right = y < endY ? keysB[y]! : Number.POSITIVE_INFINITY;
      keys[end++] = Math.min(left, right);
      if (left <= right) x++;
      if (right <= left) y++;
    }
    ends[count] = end;
  }
  return {
    count,
    words: words.subarray(0, count * WORDS),
    addresses: addresses.subarray(0, count),
    ends: ends.subarray(0, count),
    keys: keys.subarray(0, end),
  };
}

/** Concatenates parts that are in order and do not overlap. */
export function concatenate(parts: readonly Devices[]): Devices {
  if (parts.length === 1) return parts[0]!;
  const count = parts.reduce((sum, part) => sum + part.count, 0);
  const words = new Uint32Array(count * WORDS);
  const addresses = new Uint32Array(count);
  const ends = new Uint32Array(count);
  const keys = new Uint32Array(parts.reduce((sum, part) => sum + part.keys.length, 0));
  let at = 0;
  let end = 0;
  for (const part of parts) {
    words.set(part.words, at * WORDS);
    addresses.set(part.addresses, at);
    keys.set(part.keys, end);
    for (let n = 0; n < part.count; n++) ends[at + n] = part.ends[n]! + end;
    at += part.count;
    end += part.keys.length;
  }
  return { count, words, addresses, ends, keys };
}
