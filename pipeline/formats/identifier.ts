/**
 * Mobile advertising identifiers: 36 characters in a file, 16 bytes everywhere else. Works on bytes, because a string per
 * row would cost more than the rest of the parsing.
 */
export const IDENTIFIER_TEXT = 36;
export const IDENTIFIER_BYTES = 16;

/** What was found: an identifier, something else, or all zeros (the user opted out). */
export const Parsed = { ok: 0, bad: 1, zeros: 2 } as const;
export type Parsed = (typeof Parsed)[keyof typeof Parsed];

const DASH = 0x2d;
const BAD = 0x100;
/** The value of two hex digits, by both bytes; BAD for any others. */
const HEX = new Uint16Array(2 ** 16).fill(BAD);
for (let value = 0; value < 256; value++) {
  const text = value.toString(16).padStart(2, '0');
  for (const high of [text[0]!, text[0]!.toUpperCase()])
    for (const low of [text[1]!, text[1]!.toUpperCase()])
      HEX[(high.charCodeAt(0) << 8) | low.charCodeAt(0)] = value;
}

const hex = (source: Uint8Array, at: number) => HEX[(source[at]! << 8) | source[at + 1]!]!;

/** Reads the 36 bytes at `at`, in the 8-4-4-4-12 form, into four words. The caller checks what follows. */
export function parseIdentifier(source: Uint8Array, at: number, words: Uint32Array): Parsed {
  if (
    at + IDENTIFIER_TEXT > source.length ||
    source[at + 8] !== DASH ||
    source[at + 13] !== DASH ||
    source[at + 18] !== DASH ||
    source[at + 23] !== DASH
  )
    return Parsed.bad;
  const b0 = hex(source, at);
  const b1 = hex(source, at + 2);
  const b2 = hex(source, at + 4);
  const b3 = hex(source, at + 6);
  const b4 = hex(source, at + 9);
  const b5 = hex(source, at + 11);
  const b6 = hex(source, at + 14);
  const b7 = hex(source, at + 16);
  const b8 = hex(source, at + 19);
  const b9 = hex(source, at + 21);
  const b10 = hex(source, at + 24);
  const b11 = hex(source, at + 26);
  const b12 = hex(source, at + 28);
  const b13 = hex(source, at + 30);
  const b14 = hex(source, at + 32);
  const b15 = hex(source, at + 34);
  const all = b0 | b1 | b2 | b3 | b4 | b5 | b6 | b7 | b8 | b9 | b10 | b11 | b12 | b13 | b14 | b15;
  if (all >= BAD) return Parsed.bad;
  words[0] = b0 | (b1 << 8) | (b2 << 16) | (b3 << 24);
  words[1] = b4 | (b5 << 8) | (b6 << 16) | (b7 << 24);
  words[2] = b8 | (b9 << 8) | (b10 << 16) | (b11 << 24);
  words[3] = b12 | (b13 << 8) | (b14 << 16) | (b15 << 24);
  return all === 0 ? Parsed.zeros : Parsed.ok;
}

/** The 8-4-4-4-12 form, in lower case. */
function canonicalForm(bytes: Uint8Array, at: number): string {
  const hex = Buffer.from(bytes.buffer, bytes.byteOffset + at, IDENTIFIER_BYTES).toString('hex');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** `devices`: 16 bytes each, concatenated. */
export function canonicalForms(devices: Uint8Array): string[] {
  const forms: string[] = [];
  for (let at = 0; at < devices.length; at += IDENTIFIER_BYTES) forms.push(canonicalForm(devices, at));
  return forms;
}

/** An identifier as 32-bit words in memory order (little-endian on all supported machines). */
export const WORDS = 4;

/**
 * The top 4 bits of the hash (device-hash.ts) select the slot; the others are the address within it. With more than 16 slots, the lowest
 * bits select among slots with the same top bits: addresses stay evenly distributed, and dividing a slot never mixes it with another.
 */
export const slotOfHash = (hash: number, slots: number): number =>
  (hash >>> ADDRESS_BITS) + ((hash & ((slots >>> 4) - 1)) << 4);
export const ADDRESS_BITS = 28;
export const addressOf = (hash: number): number => hash & 0x0fffffff;
