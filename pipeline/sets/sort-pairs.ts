/** Sorts pairs of a device and a key as they came, from several files, and says how many of them are distinct. */
import { IDENTIFIER_BYTES, WORDS } from '../formats/identifier.ts';
import { copyDevices } from '../wire/device-groups.ts';
import { addressesOf, compareWords, type Devices } from './devices.ts';

/** In columns, in the order in which they came. */
export class Pairs {
  count = 0;
  words = new Uint32Array(0);
  bytes = new Uint8Array(0);
  /** Key 0: the device has none. */
  keys = new Uint32Array(0);
  files = new Uint32Array(0);

  /** Devices with this key, of this file. */
  add(source: Uint8Array, at: number, devices: number, key: number, file: number): void {
    const end = this.count + devices;
    if (end > this.keys.length) this.#grow(Math.max(2 * this.count, end, SMALL));
    copyDevices(source, at, devices, this.bytes, this.count * IDENTIFIER_BYTES);
    for (; this.count < end; this.count++) {
      this.keys[this.count] = key;
      this.files[this.count] = file;
    }
  }

  /** Puts `numbers[key]` in the place of each key. */
  renumber(numbers: Uint32Array): void {
    for (let pair = 0; pair < this.count; pair++) this.keys[pair] = numbers[this.keys[pair]!]!;
  }

  #grow(capacity: number): void {
    const grown = (column: Uint32Array, length: number) => {
      const larger = new Uint32Array(length);
      larger.set(column);
      return larger;
    };
    this.words = grown(this.words, capacity * WORDS);
    this.bytes = new Uint8Array(this.words.buffer);
    this.keys = grown(this.keys, capacity);
    this.files = grown(this.files, capacity);
  }
}

export interface SortedPairs {
  devices: Devices;
  /** Distinct pairs, by file. */
  filePairs: Map<number, number>;
}

/** With fewer pairs, counting 2^14 digits would take longer than a few more passes. */
const SMALL = 4_096;

export function sortPairs({ count, words: allWords, keys, files }: Pairs): SortedPairs {
  const words = allWords.subarray(0, count * WORDS);
  const addresses = addressesOf(words);
  const order = orderByAddress(addresses);
  settleTies(order, addresses, (a, b) => {
    const devices = compareWords(words, a * WORDS, words, b * WORDS);
    return devices || keys[a]! - keys[b]! || files[a]! - files[b]!;
  });
  return distinct(order, { words, addresses, keys, files });
}

/** Least digit first; a 28-bit address has two or four of them. */
function orderByAddress(addresses: Uint32Array): Uint32Array {
  const bits = addresses.length < SMALL ? 7 : 14;
  let order = new Uint32Array(addresses.length);
  for (let i = 0; i < order.length; i++) order[i] = i;
  let other = new Uint32Array(addresses.length);
  const starts = new Uint32Array(2 ** bits + 1);
  const mask = 2 ** bits - 1;
  for (let shift = 0; shift < 28; shift += bits) {
    starts.fill(0);
    for (let i = 0; i < addresses.length; i++) starts[((addresses[i]! >>> shift) & mask) + 1]!++;
    for (let digit = 1; digit <= mask; digit++) starts[digit]! += starts[digit - 1]!;
    for (let i = 0; i < order.length; i++) {
      const pair = order[i]!;
      other[starts[(addresses[pair]! >>> shift) & mask]!++] = pair;
    }
    [order, other] = [other, order];
  }
  return order;
}

/** Pairs at one address are nearly always one device's. */
function settleTies(
  order: Uint32Array,
  addresses: Uint32Array,
  compare: (a: number, b: number) => number,
): void {
  for (let start = 0; start < order.length; ) {
    const address = addresses[order[start]!]!;
    let end = start + 1;
    while (end < order.length && addresses[order[end]!] === address) end++;
    if (end - start > 1) order.subarray(start, end).sort(compare);
    start = end;
  }
}

interface Columns {
  words: Uint32Array;
  addresses: Uint32Array;
  keys: Uint32Array;
  files: Uint32Array;
}

function distinct(order: Uint32Array, { words, addresses, keys, files }: Columns): SortedPairs {
  const sorted = {
    words: new Uint32Array(words.length),
    addresses: new Uint32Array(order.length),
    ends: new Uint32Array(order.length),
    keys: new Uint32Array(order.length),
  };
  const filePairs = new Map<number, number>();
  let file = -1;
  let pairsOfFile = 0;
  const countFile = (next: number) => {
    if (pairsOfFile > 0) filePairs.set(file, (filePairs.get(file) ?? 0) + pairsOfFile);
    file = next;
    pairsOfFile = 0;
  };
  let count = 0;
  let end = 0;
  let last = -1;
  for (let i = 0; i < order.length; i++) {
    const pair = order[i]!;
    const isSameDevice = last >= 0 && compareWords(words, pair * WORDS, words, last * WORDS) === 0;
    const isSamePair = isSameDevice && keys[pair] === keys[last];
    if (!isSameDevice) {
      for (let word = 0; word < WORDS; word++)
        sorted.words[count * WORDS + word] = words[pair * WORDS + word]!;
      sorted.addresses[count] = addresses[pair]!;
      count++;
    }
    if (!isSamePair && keys[pair] !== 0) sorted.keys[end++] = keys[pair]!;
    sorted.ends[count - 1] = end;
    if (!isSamePair || files[pair] !== files[last]) {
      if (files[pair] !== file) countFile(files[pair]!);
      pairsOfFile++;
    }
    last = pair;
  }
  countFile(-1);
  const devices = {
    count,
    words: sorted.words.subarray(0, count * WORDS),
    addresses: sorted.addresses.subarray(0, count),
    ends: sorted.ends.subarray(0, count),
    keys: sorted.keys.subarray(0, end),
  };
  return { devices, filePairs };
}
