/**
 * Mobile advertising identifiers: 36 characters in a file, 16 bytes everywhere else. Works on bytes, because a string per
 * row would cost more than the rest of the parsing.
 */
export { SLOTS } from '../../schemas/topics.ts';

export const IDENTIFIER_TEXT = 36;
export const IDENTIFIER_BYTES = 16;

/** What was found: an identifier, something else, or all zeros (the user opted out). */
export const Parsed = { ok: 0, bad: 1, zeros: 2 } as const;
export type Parsed = (typeof Parsed)[keyof typeof Parsed];

const DASH = 0x2d;
/** Value of each hex digit; 0xff for any other byte, so that a bad digit sets high bits in the OR of all digits. */
const HEX = new Uint8Array(256).fill(0xff);
for (let value = 0; value < 16; value++) {
  HEX[value.toString(16).charCodeAt(0)] = value;
  HEX[value.toString(16).toUpperCase().charCodeAt(0)] = value;
}
/** Offsets of the 16 pairs of digits in the 8-4-4-4-12 form. */
const PAIRS = Uint8Array.of(0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34);

/** Reads the 36 bytes at `at` into 16 bytes of `target`. The caller checks what follows. */
export function parseIdentifier(source: Uint8Array, at: number, target: Uint8Array, offset: number): Parsed {
  if (
    at + IDENTIFIER_TEXT > source.length ||
    source[at + 8] !== DASH ||
    source[at + 13] !== DASH ||
    source[at + 18] !== DASH ||
    source[at + 23] !== DASH
  )
    return Parsed.bad;
  let digits = 0;
  for (let pair = 0; pair < IDENTIFIER_BYTES; pair++) {
    const place = at + PAIRS[pair]!;
    const high = HEX[source[place]!]!;
    const low = HEX[source[place + 1]!]!;
    digits |= high | low;
    target[offset + pair] = (high << 4) | low;
  }
  if (digits > 15) return Parsed.bad;
  return digits === 0 ? Parsed.zeros : Parsed.ok;
}

/** The 8-4-4-4-12 form, in lower case. */
export function canonicalForm(bytes: Uint8Array, at: number): string {
  const hex = Buffer.from(bytes.buffer, bytes.byteOffset + at, IDENTIFIER_BYTES).toString('hex');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** An identifier as 32-bit words in memory, little-endian like every machine that this runs on. */
export const WORDS = 4;

/**
 * MurmurHash3 (x86, 32 bits) of all 16 bytes, the same on every machine. It must never change, because stored sets are partitioned by
 * it. Identifiers are not always random (version bits, sequential test data, one vendor's constants), hence the full mixing.
 */
export function hashWords(words: Uint32Array, offset: number): number {
  let hash = 0x9747b28c;
  for (let at = offset; at < offset + WORDS; at++) {
    let word = Math.imul(words[at]!, 0xcc9e2d51);
    word = (word << 15) | (word >>> 17);
    hash ^= Math.imul(word, 0x1b873593);
    hash = (hash << 13) | (hash >>> 19);
    hash = (Math.imul(hash, 5) + 0xe6546b64) | 0;
  }
  hash ^= IDENTIFIER_BYTES;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** The top bits select the slot, and the others are the address within it. */
export const slotOfHash = (hash: number): number => hash >>> 28;
export const ADDRESS_BITS = 28;
export const addressOf = (hash: number): number => hash & 0x0fffffff;
