/**
 * Identifiers of numbered devices: deterministic by seed, distinct by number, computed instead of stored.
 */
export const IDENTIFIER_TEXT = 36;
const DASH = 0x2d;
/** Position of each byte's digits in the 8-4-4-4-12 form. */
const PLACES = Uint8Array.of(0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34);

/** The two digits of every byte. */
const HIGH = new Uint8Array(256);
const LOW = new Uint8Array(256);
for (let byte = 0; byte < 256; byte++) {
  HIGH[byte] = byte.toString(16).padStart(2, '0').charCodeAt(0);
  LOW[byte] = byte.toString(16).padStart(2, '0').charCodeAt(1);
}

/** Murmur's finalizer: a bijection of 32 bits, so different devices have different identifiers. */
export function mix(number: number): number {
  let word = number | 0;
  word = Math.imul(word ^ (word >>> 16), 0x85ebca6b);
  word = Math.imul(word ^ (word >>> 13), 0xc2b2ae35);
  return word ^ (word >>> 16);
}

export function createIdentifiers(seed: number) {
  const salt = mix(seed + 0x6a09e667);
  const one = new Uint32Array(4);
  const bytes = new Uint8Array(one.buffer);

  /** Four words, in the memory order of the 16 bytes. */
  function writeWords(words: Uint32Array, at: number, device: number): void {
    const first = mix(device ^ salt);
    const second = mix(device + 0x3c6ef372);
    const third = mix(first + 0x510e527f);
    words[at] = first;
    words[at + 1] = second;
    words[at + 2] = third;
    words[at + 3] = mix(second ^ third);
  }

  function writeText(text: Uint8Array, at: number, device: number): void {
    writeWords(one, 0, device);
    for (let byte = 0; byte < 16; byte++) {
      text[at + PLACES[byte]!] = HIGH[bytes[byte]!]!;
      text[at + PLACES[byte]! + 1] = LOW[bytes[byte]!]!;
    }
    text[at + 8] = DASH;
    text[at + 13] = DASH;
    text[at + 18] = DASH;
    text[at + 23] = DASH;
  }

  return { writeWords, writeText };
}
