/** Finds identifiers in any text, such as a rejected row: with or without hyphens, upper or lower case. */
import type { DeviceHash } from './device-hash.ts';

const PATTERN = /[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}/gi;
/** From every place on: what stands before an identifier may be a hex digit, as in `gaid`. */
const OVERLAPPING = /(?=([0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}))/gi;

/** As 32 lower-case hex digits. */
export const identifiersIn = (text: string): string[] =>
  Array.from(text.matchAll(OVERLAPPING), ([, found]) => found!.replaceAll('-', '').toLowerCase());

const MAX_TEXT = 36;

/**
 * Where to cut a row after at most `end`: before an identifier that reaches beyond it. Half of one would still tell whose it is, and an
 * erasure would not find it.
 */
export function cutOutsideIdentifiers(row: Buffer, end: number): number {
  for (let cut = end; ; ) {
    const from = Math.max(0, cut - MAX_TEXT);
    const around = row.toString('latin1', from, cut + MAX_TEXT);
    const spanning = Array.from(around.matchAll(OVERLAPPING)).find(
      ({ index, 1: found }) => from + index < cut && from + index + found!.length > cut,
    );
    if (!spanning) return cut;
    cut = from + spanning.index;
  }
}

/** For text that is kept longer than devices, or read by others. */
export const withoutIdentifiers = (text: string): string => text.replace(PATTERN, '(identifier)');

export function hashOfIdentifier(identifier: string, hash: DeviceHash): number {
  const words = new Uint32Array(4);
  new Uint8Array(words.buffer).set(Buffer.from(identifier, 'hex'));
  return hash(words, 0);
}

/** Replaces a row that contained a deleted identifier. */
export const ERASED = '(erased)';

/** The indexes of rows that contain such an identifier. */
export const rowsWith = (rows: { raw: string }[], isErased: (identifier: string) => boolean): number[] =>
  rows.flatMap(({ raw }, n) => (identifiersIn(raw).some(isErased) ? [n] : []));

/** Blanks the rows that contain such an identifier; undefined if none does. */
export function blankRows<Row extends { raw: string }>(
  rows: Row[],
  isErased: (identifier: string) => boolean,
): Row[] | undefined {
  const erased = new Set(rowsWith(rows, isErased));
  return erased.size > 0 ? rows.map((row, n) => (erased.has(n) ? { ...row, raw: ERASED } : row)) : undefined;
}
