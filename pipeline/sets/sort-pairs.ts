/** Sorts pairs of device and key from several files, and counts distinct pairs. */
import type { Addresses } from '../formats/address-ranges.ts';
import type { DeviceHash } from '../formats/device-hash.ts';
import { ADDRESS_BITS, addressOf, IDENTIFIER_BYTES, WORDS } from '../formats/identifier.ts';
import { copyDevices } from '../wire/device-groups.ts';
import { compareWords, type Devices } from './devices.ts';

function columnsFor(pairs: number) {
  const words = new Uint32Array(pairs * WORDS);
  return {
    words,
    /** Same memory as `words`. */
    bytes: new Uint8Array(words.buffer),
    /** 0: no key. */
    keys: new Uint32Array(pairs),
    files: new Uint32Array(pairs),
  };
}

/** Arrays for up to this many pairs are reused, because V8 frees large arrays late. Larger ones would be held for a single sort. */
const MAX_KEPT = 2 ** 20;
let spare = columnsFor(0);

/** Unsorted pairs, as columns. */
export class Pairs {
  count = 0;
  columns = spare;
  /** Files are renumbered 0, 1, 2, …, so that pairs can be counted in an array. */
  readonly fileOf: number[] = [];
  readonly #numbers = new Map<number, number>();

  constructor() {
    spare = columnsFor(0);
  }

  /** Adds devices with this key from this file; only those at certain addresses, if given. */
  add(
    source: Uint8Array,
    at: number,
    devices: number,
    key: number,
    file: number,
    where?: Addresses & { hash: DeviceHash },
  ): void {
    const room = this.count + devices;
    if (room > this.columns.keys.length) this.#grow(Math.max(2 * this.count, room, 1_024));
    const { bytes, keys, files } = this.columns;
    copyDevices(source, at, devices, bytes, this.count * IDENTIFIER_BYTES);
    const end = where ? this.#keep(devices, where) : room;
    const number = this.#numberOf(file);
    for (; this.count < end; this.count++) {
      keys[this.count] = key;
      files[this.count] = number;
    }
  }

  /** Replaces each key by `numbers[key]`. */
  renumberKeys(numbers: readonly number[]): void {
    const { keys } = this.columns;
    for (let pair = 0; pair < this.count; pair++) keys[pair] = numbers[keys[pair]!]!;
  }

  /** Lets others reuse the columns. */
  release(): void {
    const { length } = this.columns.keys;
    if (length > spare.keys.length && length <= MAX_KEPT) spare = this.columns;
    this.columns = columnsFor(0);
  }

  /** Filters the devices after the last pair by address, in place. Returns the end of those kept. */
  #keep(devices: number, { from, to, hash }: Addresses & { hash: DeviceHash }): number {
    const { words } = this.columns;
    let end = this.count;
    for (let device = this.count; device < this.count + devices; device++) {
      const address = addressOf(hash(words, device * WORDS));
      if (address < from || address >= to) continue;
      words.copyWithin(end * WORDS, device * WORDS, (device + 1) * WORDS);
      end++;
    }
    return end;
  }

  #numberOf(file: number): number {
    const known = this.#numbers.get(file);
    if (known !== undefined) return known;
    const number = this.fileOf.push(file) - 1;
    this.#numbers.set(file, number);
    return number;
  }

  #grow(capacity: number): void {
    const larger = columnsFor(capacity);
    larger.words.set(this.columns.words);
    larger.keys.set(this.columns.keys);
    larger.files.set(this.columns.files);
    this.columns = larger;
  }
}

interface SortedPairs {
  devices: Devices;
  /** Distinct pairs, by file. */
  filePairs: Map<number, number>;
}

/** Consumes the pairs: their columns are released. */
export function sortPairs(pairs: Pairs, hash: DeviceHash): SortedPairs {
  const { records, order } = sortRecords(pairs, hash);
  pairs.release();
  const { count, fileOf } = pairs;
  const words = new Uint32Array(count * WORDS);
  const addresses = new Uint32Array(count);
  const ends = new Uint32Array(count);
  const keys = new Uint32Array(count);
  const pairsOfFile = new Uint32Array(fileOf.length);
  let devices = 0;
  let end = 0;
  for (let i = 0, last = -1; i < count; i++) {
    const pair = order[i]!;
    const key = records[pair + KEY]!;
    const file = records[pair + FILE]!;
    const isSameDevice = last >= 0 && compareWords(records, pair, records, last) === 0;
    const isSamePair = isSameDevice && key === records[last + KEY];
    if (!isSameDevice) {
      for (let word = 0; word < WORDS; word++) words[devices * WORDS + word] = records[pair + word]!;
      addresses[devices++] = records[pair + ADDRESS]!;
    }
    if (!isSamePair && key !== 0) keys[end++] = key;
    ends[devices - 1] = end;
    if (!isSamePair || file !== records[last + FILE]) pairsOfFile[file]!++;
    last = pair;
  }
  return {
    devices: {
      count: devices,
      words: words.subarray(0, devices * WORDS),
      addresses: addresses.subarray(0, devices),
      ends: ends.subarray(0, devices),
      keys: keys.subarray(0, end),
    },
    filePairs: new Map(fileOf.map((file, number) => [file, pairsOfFile[number]!])),
  };
}

/** A record holds a pair within one cache line: words, address, key and file. */
const RECORD = 8;
const ADDRESS = 4;
const KEY = 5;
const FILE = 6;
const PAIRS_A_BUCKET = 16;
/** Up to this many are sorted by insertion, which is faster. */
const FEW = 64;

const sortRoomFor = (pairs: number) => ({
  addresses: new Uint32Array(pairs),
  records: new Uint32Array(pairs * RECORD),
  order: new Uint32Array(pairs),
});
let sortRoom = sortRoomFor(0);

/** Valid until the next sort; sorts are synchronous. */
function takeSortRoom(pairs: number): typeof sortRoom {
  if (pairs <= sortRoom.order.length) return sortRoom;
  if (pairs > MAX_KEPT) return sortRoomFor(pairs);
  // Rounded up, so that it rarely grows: untouched pages take no memory.
  sortRoom = sortRoomFor(2 ** Math.ceil(Math.log2(pairs)));
  return sortRoom;
}

/**
 * Bucket sort: addresses are uniform, so buckets are small and contiguous in memory. A sort of all pairs at once would miss the cache at
 * every comparison.
 */
function sortRecords(
  { count, columns }: Pairs,
  hash: DeviceHash,
): { records: Uint32Array; order: Uint32Array } {
  const { words, keys, files } = columns;
  const { addresses, records, order } = takeSortRoom(count);
  let [min, max] = [2 ** ADDRESS_BITS, 0];
  for (let pair = 0; pair < count; pair++) {
    const address = addressOf(hash(words, pair * WORDS));
    addresses[pair] = address;
    if (address < min) min = address;
    if (address > max) max = address;
  }
  const bits = Math.ceil(Math.log2(1 + count / PAIRS_A_BUCKET));
  const shift = Math.max(0, 32 - Math.clz32(max - min) - bits);
  const ends = new Uint32Array(2 ** bits + 1);
  for (let pair = 0; pair < count; pair++) ends[((addresses[pair]! - min) >>> shift) + 1]!++;
  for (let bucket = 1; bucket < ends.length; bucket++) ends[bucket]! += ends[bucket - 1]!;

  for (let pair = 0; pair < count; pair++) {
    const address = addresses[pair]!;
    const at = ends[(address - min) >>> shift]!++ * RECORD;
    for (let word = 0; word < WORDS; word++) records[at + word] = words[pair * WORDS + word]!;
    records[at + ADDRESS] = address;
    records[at + KEY] = keys[pair]!;
    records[at + FILE] = files[pair]!;
  }
  for (let i = 0; i < count; i++) order[i] = i * RECORD;
  for (let bucket = 0, start = 0; start < count; start = ends[bucket++]!)
    sortBucket(records, order, start, ends[bucket]!);
  return { records, order };
}

function sortBucket(records: Uint32Array, order: Uint32Array, start: number, end: number): void {
  if (end - start > FEW) {
    order.subarray(start, end).sort((a, b) => compare(records, a, b));
    return;
  }
  for (let i = start + 1; i < end; i++) {
    const pair = order[i]!;
    let place = i;
    for (; place > start && compare(records, order[place - 1]!, pair) > 0; place--)
      order[place] = order[place - 1]!;
    order[place] = pair;
  }
}

/** By address, device, key and file. */
function compare(records: Uint32Array, a: number, b: number): number {
  const addresses = records[a + ADDRESS]! - records[b + ADDRESS]!;
  if (addresses !== 0) return addresses;
  const devices = compareWords(records, a, records, b);
  return devices || records[a + KEY]! - records[b + KEY]! || records[a + FILE]! - records[b + FILE]!;
}
