/** Distinct pairs of a device and a key, collected from one batch and returned by slot and key. */
import { hashWords, IDENTIFIER_BYTES, SLOTS, slotOfHash, WORDS } from './identifier.ts';

export interface DeviceGroup {
  key: string;
  /** 16 bytes each, distinct. */
  devices: Uint8Array;
}

export interface SlotPairs {
  slot: number;
  pairs: number;
  groups: DeviceGroup[];
}

/** A hash table with open addressing over typed arrays, reused for every batch. The caller numbers the keys from 0. */
export class DevicePairs {
  #capacity = 0;
  /** Pair n's device is bytes [16 n, 16 n + 16); `#words` is the same memory, for comparison. */
  #devices = new Uint8Array(0);
  #words = new Uint32Array(0);
  #keys = new Int32Array(0);
  #hashes = new Uint32Array(0);
  /** Pair + 1 by hash; 0 is free. */
  #places = new Int32Array(0);
  #count = 0;

  constructor(capacity = 16_384) {
    this.#resize(capacity);
  }

  get size(): number {
    return this.#count;
  }

  clear(): void {
    this.#count = 0;
    this.#places.fill(0);
  }

  /** Adds the device at `source[offset]`; false if it has the pair already. */
  add(source: Uint8Array, offset: number, key: number): boolean {
    if (this.#count === this.#capacity) this.#resize(2 * this.#capacity);
    const pair = this.#count;
    const devices = this.#devices;
    const at = pair * IDENTIFIER_BYTES;
    for (let byte = 0; byte < IDENTIFIER_BYTES; byte++) devices[at + byte] = source[offset + byte]!;
    const hash = hashWords(this.#words, pair * WORDS);
    const place = this.#placeOf(pair, hash, key);
    if (this.#places[place] !== 0) return false;
    this.#places[place] = pair + 1;
    this.#keys[pair] = key;
    this.#hashes[pair] = hash;
    this.#count++;
    return true;
  }

  /** Sorted by slot, then by key number; devices in insertion order. `names[key]` is the name of a key. */
  bySlot(names: readonly string[]): SlotPairs[] {
    const keys = names.length;
    const counts = new Int32Array(SLOTS * keys);
    for (let pair = 0; pair < this.#count; pair++) counts[this.#bucketOf(pair, keys)]!++;
    const packed = new Uint8Array(this.#count * IDENTIFIER_BYTES);
    const slots: SlotPairs[] = [];
    const offsets = new Int32Array(counts.length);
    let end = 0;
    for (let bucket = 0; bucket < counts.length; bucket++) {
      const devices = counts[bucket]!;
      if (devices === 0) continue;
      const slot = Math.floor(bucket / keys);
      if (slots.at(-1)?.slot !== slot) slots.push({ slot, pairs: 0, groups: [] });
      const own = slots.at(-1)!;
      offsets[bucket] = end;
      end += devices * IDENTIFIER_BYTES;
      own.pairs += devices;
      own.groups.push({ key: names[bucket % keys]!, devices: packed.subarray(offsets[bucket], end) });
    }
    const words = new Uint32Array(packed.buffer);
    for (let pair = 0; pair < this.#count; pair++) {
      const bucket = this.#bucketOf(pair, keys);
      const to = offsets[bucket]! >>> 2;
      offsets[bucket]! += IDENTIFIER_BYTES;
      for (let word = 0; word < 4; word++) words[to + word] = this.#words[4 * pair + word]!;
    }
    return slots;
  }

  #bucketOf(pair: number, keys: number): number {
    return slotOfHash(this.#hashes[pair]!) * keys + this.#keys[pair]!;
  }

  /** The place of this device and key, or the free place where they belong. */
  #placeOf(pair: number, hash: number, key: number): number {
    const mask = this.#places.length - 1;
    const words = this.#words;
    const own = 4 * pair;
    for (let place = (hash ^ Math.imul(key, 0x9e3779b1)) & mask; ; place = (place + 1) & mask) {
      const other = this.#places[place]! - 1;
      if (other < 0) return place;
      const at = 4 * other;
      if (
        this.#keys[other] === key &&
        words[at] === words[own] &&
        words[at + 1] === words[own + 1] &&
        words[at + 2] === words[own + 2] &&
        words[at + 3] === words[own + 3]
      )
        return place;
    }
  }

  #resize(capacity: number): void {
    const { length } = this.#keys;
    const devices = new Uint8Array(capacity * IDENTIFIER_BYTES);
    const keys = new Int32Array(capacity);
    const hashes = new Uint32Array(capacity);
    if (length > 0) {
      devices.set(this.#devices);
      keys.set(this.#keys);
      hashes.set(this.#hashes);
    }
    this.#devices = devices;
    this.#words = new Uint32Array(devices.buffer);
    this.#keys = keys;
    this.#hashes = hashes;
    this.#capacity = capacity;
    this.#places = new Int32Array(2 ** Math.ceil(Math.log2(2 * capacity)));
    for (let pair = 0; pair < this.#count; pair++) {
      this.#places[this.#placeOf(pair, hashes[pair]!, keys[pair]!)] = pair + 1;
    }
  }
}
