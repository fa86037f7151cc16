/** Concatenated byte strings, numbered 0, 1, 2, … in insertion order. */
export class ByteList {
  pool = Buffer.alloc(1024);
  /** Entry n is pool[ends[n - 1], ends[n]). */
  #ends = new Int32Array(64);
  size = 0;

  /** Memory size. */
  get bytes(): number {
    return this.pool.byteLength + this.#ends.byteLength;
  }

  clear(): void {
    this.size = 0;
  }

  startOf(entry: number): number {
    return entry === 0 ? 0 : this.#ends[entry - 1]!;
  }

  endOf(entry: number): number {
    return this.#ends[entry]!;
  }

  /** Returns the number of the entry. */
  add(source: Uint8Array, start = 0, end = source.length): number {
    const entry = this.size++;
    let to = this.startOf(entry);
    const newEnd = to + end - start;
    if (entry === this.#ends.length) this.#ends = grown(this.#ends, 2 * entry);
    if (newEnd > this.pool.length) this.pool = Buffer.concat([this.pool], 2 * newEnd);
    for (let at = start; at < end; at++) this.pool[to++] = source[at]!;
    this.#ends[entry] = newEnd;
    return entry;
  }

  text(entry: number): string {
    return this.pool.toString('utf8', this.startOf(entry), this.#ends[entry]);
  }

  texts(): string[] {
    return Array.from({ length: this.size }, (_, entry) => this.text(entry));
  }
}

export function grown(array: Int32Array, length: number): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(length);
  larger.set(array);
  return larger;
}
