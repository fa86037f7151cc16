/** Numbers distinct byte strings 0, 1, 2, … in insertion order, and looks them up without creating a string. */
import { randomFillSync } from 'node:crypto';
import { ByteList } from './byte-list.ts';

const FEWEST_PLACES = 64;

export class ByteTable {
  readonly entries = new ByteList();
  /** Entry + 1 by hash, open addressing; 0 is free. */
  #places = new Int32Array(FEWEST_PLACES);

  get size(): number {
    return this.entries.size;
  }

  /** Memory size. */
  get bytes(): number {
    return this.entries.bytes + this.#places.byteLength;
  }

  clear(): void {
    this.#places.fill(0);
    this.entries.clear();
  }

  find(source: Uint8Array, start: number, end: number): number {
    return this.#places[this.#placeOf(source, start, end)]! - 1;
  }

  /** The number of the entry, added or found. */
  add(source: Uint8Array, start = 0, end = source.length): number {
    const place = this.#placeOf(source, start, end);
    const found = this.#places[place]! - 1;
    if (found >= 0) return found;
    const entry = this.entries.add(source, start, end);
    this.#places[place] = entry + 1;
    if (2 * this.size > this.#places.length) this.#rehash();
    return entry;
  }

  /** The place of the entry, or the free place where it belongs. */
  #placeOf(source: Uint8Array, start: number, end: number): number {
    const mask = this.#places.length - 1;
    // Only the highest bits are distributed evenly.
    const first = hashBytes(source, start, end) >>> Math.clz32(mask);
    for (let place = first; ; place = (place + 1) & mask) {
      const entry = this.#places[place]! - 1;
      if (entry < 0 || this.#holds(entry, source, start, end)) return place;
    }
  }

  #holds(entry: number, source: Uint8Array, start: number, end: number): boolean {
    const { pool } = this.entries;
    let own = this.entries.startOf(entry);
    if (this.entries.endOf(entry) - own !== end - start) return false;
    for (let at = start; at < end; at++, own++) if (pool[own] !== source[at]) return false;
    return true;
  }

  #rehash(): void {
    const { entries } = this;
    this.#places = new Int32Array(2 * this.#places.length);
    for (let entry = 0; entry < entries.size; entry++) {
      this.#places[this.#placeOf(entries.pool, entries.startOf(entry), entries.endOf(entry))] = entry + 1;
    }
  }
}

/** Longer than any entry; longer strings are only looked up. */
const KEY_WORDS = 1 << 12;
/** Random per process, so that clients cannot choose strings that collide. */
const key = randomFillSync(new Int32Array(KEY_WORDS));
const [basis] = randomFillSync(new Int32Array(1)) as unknown as [number];

/** Multilinear, as in device-hash.ts: two different strings share the n highest bits for one key in 2^n, up to n = 25. */
function hashBytes(source: Uint8Array, start: number, end: number): number {
  let hash = basis;
  // Byte + 1, so that trailing zeros count.
  for (let at = start; at < end; at++)
    hash = (hash + Math.imul(source[at]! + 1, key[(at - start) & (KEY_WORDS - 1)]!)) | 0;
  return hash >>> 0;
}
