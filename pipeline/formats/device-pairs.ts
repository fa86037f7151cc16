/** Distinct pairs of a device and a key, collected from one batch and returned by slot and key. */
import type { SlotTotal } from '../../schemas/topics.ts';
import { copyDevices, GroupWriter } from '../wire/device-groups.ts';
import type { ByteList } from './byte-list.ts';
import { type DeviceHash, hashInMemory } from './device-hash.ts';
import { IDENTIFIER_BYTES, slotOfHash, WORDS } from './identifier.ts';
import { checksumOf, hashKey } from './slot-totals.ts';

export interface SlotPairs extends SlotTotal {
  slot: number;
  /** Encoded as in a message. */
  groups: Buffer;
}

/** The number of slots, and the hash that selects the slot of a device. */
export interface Slots {
  count: number;
  hash: DeviceHash;
}

const writer = new GroupWriter();

/** A hash table with open addressing over typed arrays, reused for every batch. The caller numbers the keys from 0. */
export class DevicePairs {
  #capacity = 0;
  /** Pair n's device is bytes [16 n, 16 n + 16); `#words` is the same memory, for comparison. */
  #devices = new Uint8Array(0);
  #words = new Uint32Array(0);
  #keys = new Int32Array(0);
  #hashes = new Int32Array(0);
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

  /** False if the pair was already added. */
  add(device: Uint32Array, key: number): boolean {
    if (this.#count === this.#capacity) this.#resize(2 * this.#capacity);
    const pair = this.#count;
    const words = this.#words;
    const at = pair * WORDS;
    for (let word = 0; word < WORDS; word++) words[at + word] = device[word]!;
    const hash = hashInMemory(device, 0);
    const place = this.#placeOf(pair, hash, key);
    if (this.#places[place] !== 0) return false;
    this.#places[place] = pair + 1;
    this.#keys[pair] = key;
    this.#hashes[pair] = hash;
    this.#count++;
    return true;
  }

  /** Slots that have pairs, with a group for each key; devices in insertion order. `names` has the names of the keys. */
  bySlot(names: ByteList, slots: Slots): SlotPairs[] {
    const keys = names.size;
    const ends = new Int32Array(slots.count * keys);
    const order = this.#orderByBucket(ends, keys, slots);
    const filled: SlotPairs[] = [];
    for (let slot = 0, bucket = 0, next = 0; slot < slots.count; slot++) {
      const first = next;
      let checksum = 0;
      for (let key = 0; key < keys; key++, bucket++) {
        const end = ends[bucket]!;
        if (end === next) continue;
        const [from, to] = [names.startOf(key), names.endOf(key)];
        const keyHash = hashKey(names.pool, from, to);
        let place = writer.add(names.pool, from, to, end - next);
        for (; next < end; next++, place += IDENTIFIER_BYTES) {
          const pair = order[next]!;
          copyDevices(this.#devices, pair * IDENTIFIER_BYTES, 1, writer.bytes, place);
          checksum = (checksum + checksumOf(this.#words, pair * WORDS, keyHash)) >>> 0;
        }
      }
      if (next > first) filled.push({ slot, pairs: next - first, checksum, groups: writer.take() });
    }
    return filled;
  }

  /** A counting sort; sets `ends` to the end of each bucket. */
  #orderByBucket(ends: Int32Array, keys: number, { count: slots, hash }: Slots): Int32Array {
    const buckets = new Int32Array(this.#count);
    for (let pair = 0; pair < this.#count; pair++) {
      const bucket = slotOfHash(hash(this.#words, pair * WORDS), slots) * keys + this.#keys[pair]!;
      buckets[pair] = bucket;
      ends[bucket]!++;
    }
    for (let bucket = 1; bucket < ends.length; bucket++) ends[bucket]! += ends[bucket - 1]!;
    const order = new Int32Array(this.#count);
    for (let pair = this.#count - 1; pair >= 0; pair--) order[--ends[buckets[pair]!]!] = pair;
    // Each end was counted down to the bucket's start, which is the end of the previous bucket.
    ends.copyWithin(0, 1);
    if (ends.length > 0) ends[ends.length - 1] = this.#count;
    return order;
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
    const hashes = new Int32Array(capacity);
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
