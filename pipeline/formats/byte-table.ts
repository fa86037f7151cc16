/** Numbers byte strings 0, 1, 2, … in insertion order, and looks them up without creating a string. */
export class ByteTable {
  /** Entry + 1 by hash, open addressing; 0 is free. */
  #places = new Int32Array(64);
  #pool = Buffer.alloc(1024);
  /** Entry n is pool[ends[n - 1], ends[n]). */
  #ends = new Int32Array(64);
  #count = 0;

  get size(): number {
    return this.#count;
  }

  /** What it takes in memory. */
  get bytes(): number {
    return this.#pool.byteLength + this.#places.byteLength + this.#ends.byteLength;
  }

  clear(): void {
    this.#places.fill(0);
    this.#count = 0;
  }

  find(source: Uint8Array, start: number, end: number): number {
    return this.#places[this.#placeOf(source, start, end)]! - 1;
  }

  /** The number of the entry, added or found. */
  add(source: Uint8Array, start: number, end: number): number {
    const place = this.#placeOf(source, start, end);
    const found = this.#places[place]! - 1;
    if (found >= 0) return found;
    const entry = this.#count++;
    const from = this.#startOf(entry);
    const to = from + end - start;
    if (entry === this.#ends.length) this.#ends = grown(this.#ends, 2 * entry);
    if (to > this.#pool.length) this.#pool = Buffer.concat([this.#pool], 2 * to);
    this.#pool.set(source.subarray(start, end), from);
    this.#ends[entry] = to;
    this.#places[place] = entry + 1;
    if (2 * this.#count > this.#places.length) this.#rehash();
    return entry;
  }

  text(entry: number): string {
    return this.#pool.toString('utf8', this.#startOf(entry), this.#ends[entry]);
  }

  #startOf(entry: number): number {
    return entry === 0 ? 0 : this.#ends[entry - 1]!;
  }

  /** The place of the entry, or the free place where it belongs. */
  #placeOf(source: Uint8Array, start: number, end: number): number {
    const mask = this.#places.length - 1;
    let hash = 0x811c9dc5;
    for (let at = start; at < end; at++) hash = Math.imul(hash ^ source[at]!, 0x01000193);
    for (let place = (hash ^ (hash >>> 15)) & mask; ; place = (place + 1) & mask) {
      const entry = this.#places[place]! - 1;
      if (entry < 0 || this.#holds(entry, source, start, end)) return place;
    }
  }

  #holds(entry: number, source: Uint8Array, start: number, end: number): boolean {
    const from = this.#startOf(entry);
    if (this.#ends[entry]! - from !== end - start) return false;
    for (let at = start, own = from; at < end; at++, own++) if (this.#pool[own] !== source[at]) return false;
    return true;
  }

  #rehash(): void {
    this.#places = new Int32Array(2 * this.#places.length);
    for (let entry = 0; entry < this.#count; entry++) {
      this.#places[this.#placeOf(this.#pool, this.#startOf(entry), this.#ends[entry]!)] = entry + 1;
    }
  }
}

export function grown(array: Int32Array, length: number): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(length);
  larger.set(array);
  return larger;
}
