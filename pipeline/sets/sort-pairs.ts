/** Sorts pairs of device and key from several files, and counts distinct pairs. */
import type { Addresses } from '../formats/address-ranges.ts';
import type { DeviceHash } from '../formats/device-hash.ts';
import { ADDRESS_BITS, addressOf, IDENTIFIER_BYTES, WORDS } from '../formats/identifier.ts';
import { nextTurn } from '../runtime/loop-turn.ts';
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
  for (const pieces = sorting(pairs, hash); ; ) {
    const { done, value } = pieces.next();
    if (done) return value;
  }
}

/** The same, with many pairs in several turns of the event loop. */
export async function sortPairsInTurns(pairs: Pairs, hash: DeviceHash): Promise<SortedPairs> {
  for (const pieces = sorting(pairs, hash); ; await nextTurn()) {
    const { done, value } = pieces.next();
    if (done) return value;
  }
}

/** Yields before each piece of long work. */
type InPieces<Result> = Generator<undefined, Result>;

function* sorting(pairs: Pairs, hash: DeviceHash): InPieces<SortedPairs> {
  const room = takeSortRoom(pairs.count);
  yield* sortRecords(pairs, room, hash);
  pairs.release();
  const sorted = yield* withoutRepetitions(pairs, room);
  releaseSortRoom(room);
  return sorted;
}

function* withoutRepetitions({ count, fileOf }: Pairs, { records, order }: SortRoom): InPieces<SortedPairs> {
  const words = new Uint32Array(count * WORDS);
  const addresses = new Uint32Array(count);
  const ends = new Uint32Array(count);
  const keys = new Uint32Array(count);
  const pairsOfFile = new Uint32Array(fileOf.length);
  let devices = 0;
  let end = 0;
  let last = -1;
  yield* inPieces(count, (from, to) => {
    for (let i = from; i < to; i++) {
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
  });
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
/** A pass over them takes a few milliseconds. */
const PAIRS_A_PIECE = 2 ** 15;

function* inPieces(count: number, pass: (from: number, to: number) => void): InPieces<void> {
  for (let from = 0; from < count; from += PAIRS_A_PIECE) {
    if (count > PAIRS_A_PIECE) yield;
    pass(from, Math.min(count, from + PAIRS_A_PIECE));
  }
}

interface SortRoom {
  addresses: Uint32Array;
  records: Uint32Array;
  order: Uint32Array;
}
const sortRoomFor = (pairs: number): SortRoom => ({
  addresses: new Uint32Array(pairs),
  records: new Uint32Array(pairs * RECORD),
  order: new Uint32Array(pairs),
});
let spareRoom = sortRoomFor(0);

function takeSortRoom(pairs: number): SortRoom {
  if (pairs > MAX_KEPT) return sortRoomFor(pairs);
  const room = spareRoom;
  spareRoom = sortRoomFor(0);
  // Rounded up, so that it rarely grows: untouched pages take no memory.
  return pairs <= room.order.length ? room : sortRoomFor(2 ** Math.ceil(Math.log2(pairs)));
}

function releaseSortRoom(room: SortRoom): void {
  const { length } = room.order;
  if (length > spareRoom.order.length && length <= MAX_KEPT) spareRoom = room;
}

/**
 * Bucket sort: addresses are uniform, so buckets are small and contiguous in memory. A sort of all pairs at once would miss the cache at
 * every comparison.
 */
function* sortRecords({ count, columns }: Pairs, room: SortRoom, hash: DeviceHash): InPieces<void> {
  const { words, keys, files } = columns;
  const { addresses, records, order } = room;
  let [min, max] = [2 ** ADDRESS_BITS, 0];
  yield* inPieces(count, (from, to) => {
    for (let pair = from; pair < to; pair++) {
      const address = addressOf(hash(words, pair * WORDS));
      addresses[pair] = address;
      order[pair] = pair * RECORD;
      if (address < min) min = address;
      if (address > max) max = address;
    }
  });
  const bits = Math.ceil(Math.log2(1 + count / PAIRS_A_BUCKET));
  const shift = Math.max(0, 32 - Math.clz32(max - min) - bits);
  const ends = new Uint32Array(2 ** bits + 1);
  for (let pair = 0; pair < count; pair++) ends[((addresses[pair]! - min) >>> shift) + 1]!++;
  for (let bucket = 1; bucket < ends.length; bucket++) ends[bucket]! += ends[bucket - 1]!;

  yield* inPieces(count, (from, to) => {
    for (let pair = from; pair < to; pair++) {
      const address = addresses[pair]!;
      const at = ends[(address - min) >>> shift]!++ * RECORD;
      for (let word = 0; word < WORDS; word++) records[at + word] = words[pair * WORDS + word]!;
      records[at + ADDRESS] = address;
      records[at + KEY] = keys[pair]!;
      records[at + FILE] = files[pair]!;
    }
  });
  let bucket = 0;
  let start = 0;
  yield* inPieces(count, (_from, to) => {
    for (; start < to; start = ends[bucket++]!) sortBucket(records, order, start, ends[bucket]!);
  });
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
