/** The beginning of a file: its delimiter, and whether its first row is a header. */

const SPACE = 0x20;
const QUOTE = 0x22;
const LF = 0x0a;
const CR = 0x0d;

export const COMMA = 0x2c;
/** Comma, tab, semicolon, pipe. */
const DELIMITERS = new Set([COMMA, 0x09, 0x3b, 0x7c]);

/**
 * A row with one of these in its first field is a header. Compared in lower case, trimmed, without quotes, and with _ for a space or
 * hyphen.
 */
const HEADER_WORDS = new Set([
  'aaid',
  'ad_id',
  'adid',
  'advertiser_id',
  'advertising_id',
  'advertisingid',
  'android_id',
  'device',
  'device_id',
  'deviceid',
  'did',
  'gaid',
  'google_advertising_id',
  'id',
  'identifier',
  'idfa',
  'ifa',
  'maid',
  'maids',
  'mobile_ad_id',
  'mobile_advertising_id',
  'mobile_device_id',
  'mobile_id',
  'rida',
  'uuid',
]);

/**
 * Past the blank line (nothing but spaces and tabs) at `at`, or -1 if the line is not blank. A line without a
 * newline before `to` ends at `to`: the caller makes sure that this is the end of the file, or that the line is complete.
 */
export function skipBlankLine(bytes: Uint8Array, at: number, to: number): number {
  while (at < to && (bytes[at] === 0x20 || bytes[at] === 0x09)) at++;
  if (at < to && bytes[at] === CR) at++;
  if (at === to) return to;
  return bytes[at] === LF ? at + 1 : -1;
}

/** Past the first field of the row at `at`; a quoted one ends with its closing quote. */
function endOfFirstField(bytes: Uint8Array, at: number, to: number): number {
  while (at < to && bytes[at] === SPACE) at++;
  if (bytes[at] !== QUOTE) {
    while (at < to && bytes[at] !== LF && !DELIMITERS.has(bytes[at]!)) at++;
    return at;
  }
  for (at++; at < to; at++) {
    if (bytes[at] !== QUOTE) continue;
    if (bytes[at + 1] !== QUOTE) return at + 1;
    at++;
  }
  return to;
}

/** The first delimiter after the first field and outside quotes; comma if there is none. */
export function detectDelimiter(bytes: Uint8Array, at: number, to: number): number {
  for (let place = endOfFirstField(bytes, at, to); place < to && bytes[place] !== LF; place++) {
    if (DELIMITERS.has(bytes[place]!)) return bytes[place]!;
  }
  return COMMA;
}

export function isHeader(bytes: Uint8Array, at: number, to: number): boolean {
  const field = new TextDecoder().decode(bytes.subarray(at, endOfFirstField(bytes, at, to))).trim();
  const name = field.length > 1 && field.startsWith('"') && field.endsWith('"') ? field.slice(1, -1) : field;
  return HEADER_WORDS.has(name.trim().toLowerCase().replaceAll(/[ -]/g, '_'));
}
