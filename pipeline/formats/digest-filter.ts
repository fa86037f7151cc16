/** A Bloom filter of digests: 10 bits for each, of which five are set. One in a hundred that is not there seems to be. Digests are random, so their words are the hashes. */
import { WORDS } from './identifier.ts';

const BITS = 10;
const PROBES = 5;
const MIN_CAPACITY = 1_000;

export class DigestFilter {
  readonly capacity: number;
  readonly #bits: Uint32Array;
  readonly #size: number;

  constructor(digests: number) {
    this.capacity = Math.max(MIN_CAPACITY, digests);
    this.#size = Math.ceil((this.capacity * BITS) / 32) * 32;
    this.#bits = new Uint32Array(this.#size / 32);
  }

  /** The digest whose first 16 bytes are the words at this place. */
  add(words: Uint32Array, at: number): void {
    for (let probe = 0; probe < PROBES; probe++) {
      const bit = this.#bitOf(words, at, probe);
      this.#bits[bit >>> 5]! |= 1 << (bit & 31);
    }
  }

  mayHave(words: Uint32Array, at: number): boolean {
    for (let probe = 0; probe < PROBES; probe++) {
      const bit = this.#bitOf(words, at, probe);
      if ((this.#bits[bit >>> 5]! & (1 << (bit & 31))) === 0) return false;
    }
    return true;
  }

  #bitOf(words: Uint32Array, at: number, probe: number): number {
    const mixed =
      probe < WORDS ? words[at + probe]! : (words[at]! ^ Math.imul(words[at + 1]!, 0x9e3779b1)) >>> 0;
    return mixed % this.#size;
  }
}
