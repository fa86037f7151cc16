/** Where rows end: at a newline that is not inside a quoted field. */

const SPACE = 0x20;
const QUOTE = 0x22;
const LF = 0x0a;
const CR = 0x0d;

/** Limit of a row, without its line ending. */
const MAX_ROW_BYTES = 65_536;
/** A row that does not end within this many bytes (content, CR, LF) is too long. */
export const MAX_ROW_WINDOW = MAX_ROW_BYTES + 2;

/**
 * Past the newline of the row at `at`, or -1 if `to` comes first. A quote counts only at the start of a field, or after spaces there.
 * Text after the closing quote is an error, which the parser reports; it does not open a second quoted part.
 */
export function endOfRow(bytes: Uint8Array, at: number, to: number, delimiter: number): number {
  let fieldBegins = true;
  while (at < to) {
    const byte = bytes[at]!;
    if (byte === QUOTE && fieldBegins) {
      for (at++; at < to; at++) {
        if (bytes[at] !== QUOTE) continue;
        if (bytes[at + 1] !== QUOTE) break;
        at++;
      }
      at++;
      fieldBegins = false;
      continue;
    }
    at++;
    if (byte === LF) return at;
    fieldBegins = byte === delimiter || (fieldBegins && byte === SPACE);
  }
  return -1;
}

export function isRowTooLong(bytes: Uint8Array, at: number, end: number): boolean {
  let length = end - at;
  if (length > 0 && bytes[end - 1] === LF) length--;
  if (length > 0 && bytes[at + length - 1] === CR) length--;
  return length > MAX_ROW_BYTES;
}

/** The end of the last row in [at, to) that comes before any row that is too long. For rows without quotes. */
export function endOfPlainRows(bytes: Buffer, at: number, to: number): number {
  // Steps of one row window: no step can skip a row that is longer than the window.
  for (;;) {
    const newline = bytes.lastIndexOf(LF, Math.min(to, at + MAX_ROW_WINDOW) - 1);
    if (newline < at) return at;
    const rows = newline + 1;
    if (isRowTooLong(bytes, at, rows) && bytes.indexOf(LF, at) === newline) return at;
    if (rows === to || to - at <= MAX_ROW_WINDOW) return rows;
    at = rows;
  }
}

/** Lines that begin in [at, to): newlines, and a last line without one. */
export function countLines(bytes: Buffer, at: number, to: number): number {
  if (at >= to) return 0;
  let lines = bytes[to - 1] === LF ? 0 : 1;
  // Native, and four times as fast as a loop over the bytes: lines are longer than the call.
  const part = bytes.subarray(at, to);
  for (let newline = part.indexOf(LF); newline >= 0; newline = part.indexOf(LF, newline + 1)) lines++;
  return lines;
}
