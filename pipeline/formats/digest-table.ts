/** Exact look-up of wanted digests in memory: 32 bytes each, plus at most 8 in a hash table with open addressing. */
import { DIGEST_BYTES } from './digest-kernel.ts';

const WORDS = DIGEST_BYTES / Uint32Array.BYTES_PER_ELEMENT;
const MIN_BITS = 4;

export type DigestTable = ReturnType<typeof createDigestTable>;

/** Concatenated digests, aligned to four bytes. */
export const digestWords = (digests: Uint8Array): Uint32Array =>
  new Uint32Array(digests.buffer, digests.byteOffset, digests.byteLength / Uint32Array.BYTES_PER_ELEMENT);

/** The digests are not copied and must not change. */
export function createDigestTable(digests: Uint8Array) {
  const wanted = digestWords(digests);
  const count = wanted.length / WORDS;
  const bits = Math.max(MIN_BITS, Math.ceil(Math.log2(count * 1.5 + 1)));
  /** Index of a digest plus one; 0: free. Digests are uniformly random, so the first word is the hash. */
  const places = new Uint32Array(2 ** bits);
  const mask = places.length - 1;
  const repeated = new Map<number, number>();

  const isSame = (words: Uint32Array, at: number, n: number): boolean => {
    for (let word = 0; word < WORDS; word++) if (words[at + word] !== wanted[n * WORDS + word]) return false;
    return true;
  };

  /** The place of a digest, or the free place where it belongs. */
  function placeOf(words: Uint32Array, at: number): number {
    let place = words[at]! & mask;
    for (let found = places[place]!; found !== 0; found = places[place]!) {
      if (isSame(words, at, found - 1)) break;
      place = (place + 1) & mask;
    }
    return place;
  }

  for (let n = 0; n < count; n++) {
    const place = placeOf(wanted, n * WORDS);
    const first = places[place]!;
    if (first === 0) places[place] = n + 1;
    else repeated.set(n, first - 1);
  }

  return {
    count,
    /** Duplicates of an earlier digest, which `find` returns instead. */
    repeated: repeated as ReadonlyMap<number, number>,
    /** Index of the first wanted digest equal to digest `n` of `others`; -1 if there is none. */
    find: (others: Uint32Array, n: number): number => places[placeOf(others, n * WORDS)]! - 1,
  };
}
