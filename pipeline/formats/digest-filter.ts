/**
 * A blocked Bloom filter of digests: a look-up reads one cache line. At least 16 bits and six probes per digest: at most 1 false positive
 * in 500. Digests are random, so their words are the hashes.
 */
const BITS = 16;
const PROBES = 6;
const BLOCK_BITS = 512;
const BLOCK_WORDS = BLOCK_BITS / 32;
const MIN_CAPACITY = 1_000;

export class DigestFilter {
  readonly capacity: number;
  readonly #words: Uint32Array;
  readonly #lastBlock: number;

  constructor(digests: number) {
    const needed = (Math.max(MIN_CAPACITY, digests) * BITS) / BLOCK_BITS;
    // A power of two, to avoid a slow division.
    const blocks = 2 ** Math.ceil(Math.log2(needed));
    this.capacity = Math.floor((blocks * BLOCK_BITS) / BITS);
    this.#words = new Uint32Array(blocks * BLOCK_WORDS);
    this.#lastBlock = blocks - 1;
  }

  /** Adds the digest whose first 16 bytes are the words at `at`. */
  add(words: Uint32Array, at: number): void {
    const block = this.#blockOf(words, at);
    for (let probe = 0; probe < PROBES; probe++) {
      const bit = bitOf(words, at, probe);
      this.#words[block + (bit >>> 5)]! |= 1 << (bit & 31);
    }
  }

  mayHave(words: Uint32Array, at: number): boolean {
    const block = this.#blockOf(words, at);
    for (let probe = 0; probe < PROBES; probe++) {
      const bit = bitOf(words, at, probe);
      if ((this.#words[block + (bit >>> 5)]! & (1 << (bit & 31))) === 0) return false;
    }
    return true;
  }

  /**
   * Calls back with the place of each digest that may be in the filter, of `count` digests of `stride` words each. The first probe has no
   * branch: a mispredicted one would wait for its block, and the cache misses would follow each other instead of overlapping.
   */
  eachPossible(words: Uint32Array, count: number, stride: number, onPossible: (at: number) => void): void {
    const left = new Uint32Array(count);
    let end = 0;
    for (let n = 0, at = 0; n < count; n++, at += stride) {
      const bit = bitOf(words, at, 0);
      left[end] = at;
      end += (this.#words[this.#blockOf(words, at) + (bit >>> 5)]! >>> (bit & 31)) & 1;
    }
    for (const at of left.subarray(0, end)) if (this.mayHave(words, at)) onPossible(at);
  }

  #blockOf(words: Uint32Array, at: number): number {
    return (words[at]! & this.#lastBlock) * BLOCK_WORDS;
  }
}

/** The bit within the block: half a word per probe, from the words after the first. */
const bitOf = (words: Uint32Array, at: number, probe: number): number =>
  (words[at + 1 + (probe >> 1)]! >>> ((probe & 1) << 4)) & (BLOCK_BITS - 1);
