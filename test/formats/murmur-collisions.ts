/** Identifiers that all have the same MurmurHash3: a partner can compute them for any hash without a secret key. */
const WORDS = 4;
const C1 = 0xcc9e2d51;
const C2 = 0x1b873593;
const ADDED = 0xe6546b64;
const SEED = 0x9747b28c;

const rotate = (x: number, bits: number) => (x << bits) | (x >>> (32 - bits));
/** The modular inverse of an odd number. */
function inverseOf(odd: number): number {
  let inverse = odd;
  for (let round = 0; round < 5; round++) inverse = Math.imul(inverse, 2 - Math.imul(odd, inverse));
  return inverse;
}

const mixWord = (word: number) => Math.imul(rotate(Math.imul(word, C1), 15), C2);
const unmixWord = (mixed: number) =>
  Math.imul(rotate(Math.imul(mixed, inverseOf(C2)), 17), inverseOf(C1)) >>> 0;
const step = (hash: number, word: number) => (Math.imul(rotate(hash ^ mixWord(word), 13), 5) + ADDED) | 0;

/** MurmurHash3 (x86, 32 bits) of 16 bytes. */
export function murmur(words: Uint32Array, at: number): number {
  let hash = SEED;
  for (let word = 0; word < WORDS; word++) hash = step(hash, words[at + word]!);
  hash ^= 16;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** Inverts the final mix. */
function unfinish(finished: number): number {
  let hash = finished ^ (finished >>> 16);
  hash = Math.imul(hash, inverseOf(0xc2b2ae35));
  hash ^= (hash >>> 13) ^ (hash >>> 26);
  hash = Math.imul(hash, inverseOf(0x85ebca6b));
  return hash ^ (hash >>> 16) ^ 16;
}

/** Three words are free, the fourth follows. Different numbers give different devices. */
export function collidingDevices(count: number, hash = 0x01234567, from = 0): Uint8Array {
  const words = new Uint32Array(count * WORDS);
  const before = rotate(Math.imul((unfinish(hash) - ADDED) | 0, inverseOf(5)), 19);
  for (let n = 0; n < count; n++) {
    const at = n * WORDS;
    const number = from + n;
    words.set([number * 2_654_435_761, number ^ 0x12345678, Math.imul(number, 40_503)], at);
    let state = SEED;
    for (let word = 0; word < WORDS - 1; word++) state = step(state, words[at + word]!);
    words[at + WORDS - 1] = unmixWord(before ^ state);
  }
  return new Uint8Array(words.buffer);
}
