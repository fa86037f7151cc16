/**
 * The oracle for one file, slow and simple: strings, regular expressions and Sets over the whole file at once. It shares no code
 * with the pipeline, so tests can compare the two. Bytes are read as Latin-1, one character each, so that positions match the file;
 * values are decoded as UTF-8 at the end.
 */
import { gunzipSync } from 'node:zlib';

type OracleOptions = (
  | { layout: 'audience' }
  /** Key in the file → attribute id. */
  | { layout: 'attributes'; keys: ReadonlyMap<string, number> }
) & {
  compressed?: boolean;
  /** The file fails above this share of malformed rows. */
  maxInvalidShare?: number;
};

export interface FileVerdict {
  /** Null: the file loads. Otherwise nothing is merged, and the fields below hold what precedes the failure. */
  failure: { code: string; line?: number } | null;
  rows: number;
  accepted: number;
  rejected: Record<string, number>;
  /** Lower-case identifiers by attribute id, or by event ('' for none, '(other)' for all events if there are too many). */
  devices: Map<string, Set<string>>;
  /** Accepted rows by event. */
  events: Map<string, number>;
  /** (Device, key) pairs in accepted rows, duplicates included. */
  pairsRead: number;
  rejects: { line: number; code: string; raw: string; isCut?: true }[];
}

const MAX_ROW = 65_536;
const headerWords =
  `aaid ad_id adid advertiser_id advertising_id advertisingid android_id device device_id deviceid did gaid
  google_advertising_id id identifier idfa ifa maid maids mobile_ad_id mobile_advertising_id mobile_device_id mobile_id rida
  uuid`.split(/\s+/);

interface OracleRecord {
  /** The record's first line. */
  line: number;
  raw: string;
  fields: string[];
  badQuotes: boolean;
}

const utf8 = (latin1: string) => Buffer.from(latin1, 'latin1').toString('utf8');
const isBlank = (raw: string) => /^[ \t]*$/.test(raw);

/** The first record of `rest` (RFC 4180) and its length with the line ending. */
function firstRecord(
  rest: string,
  delimiter: string,
  line: number,
): { record: OracleRecord; length: number } {
  const fields: string[] = [];
  const quoted = / *"([^"]*(?:""[^"]*)*)("?) */y;
  const plain = new RegExp(`[^${delimiter}\n]*`, 'y');
  let badQuotes = false;
  let at = 0;
  for (;;) {
    quoted.lastIndex = at;
    const inQuotes = quoted.exec(rest);
    plain.lastIndex = inQuotes ? quoted.lastIndex : at;
    const outside = plain.exec(rest)![0];
    at = plain.lastIndex;
    const more = rest[at] === delimiter;
    const tail = more ? outside : outside.replace(/\r$/, '');
    const value = inQuotes ? inQuotes[1]!.replaceAll('""', '"') : tail;
    fields.push(value.replace(/^ +| +$/g, ''));
    if (inQuotes && (inQuotes[2] === '' || tail !== '')) badQuotes = true;
    if (!more) break;
    at++;
  }
  const length = Math.min(at + 1, rest.length);
  const raw = rest.slice(0, length).replace(/\r?\n$|\r$/, '');
  return { record: { line, raw, fields, badQuotes }, length };
}

function detectDelimiter(rest: string): string {
  const afterFirst = rest.replace(/^ *(?:"[^"]*(?:""[^"]*)*"?|[^,\t;|\n]*)/, '');
  return /^[^\n]*?([,\t;|])/.exec(afterFirst)?.[1] ?? ',';
}

/** All records, including blank ones. The first record that is not blank determines the delimiter. */
function* recordsOf(text: string): Generator<OracleRecord & { first: boolean }> {
  let delimiter: string | undefined;
  let line = 1;
  for (let at = 0; at < text.length; ) {
    const rest = text.slice(at);
    const blank = /^[ \t]*\r?(\n|$)/.test(rest);
    const first = !blank && delimiter === undefined;
    if (first) delimiter = detectDelimiter(rest);
    const { record, length } = firstRecord(rest, delimiter ?? ',', line);
    yield { ...record, first };
    line += rest.slice(0, length).split('\n').length - 1;
    at += length;
  }
}

/** A cut row may end in half a character. */
function isText(latin1: string, cut: boolean): boolean {
  const bytes = Buffer.from(latin1, 'latin1');
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: cut });
    return !bytes.includes(0);
  } catch {
    return false;
  }
}

function failureOf({ raw, line }: OracleRecord): FileVerdict['failure'] {
  const cut = raw.length > MAX_ROW;
  const lines = raw.slice(0, MAX_ROW).split('\n');
  const notText = lines.findIndex((text, index) => !isText(text, cut && index === lines.length - 1));
  if (notText >= 0) return { code: 'not_text', line: line + notText };
  return cut ? { code: 'line_too_long', line } : null;
}

function isHeader(record: OracleRecord): boolean {
  return headerWords.includes((record.fields[0] ?? '').trim().toLowerCase().replaceAll(/[ -]/g, '_'));
}

/** The keys of a row's device, or the reason for its rejection. */
function judge(record: OracleRecord, options: OracleOptions): { keys: string[] } | { reject: string } {
  const [identifier = '', ...values] = record.fields.map(utf8);
  if (record.badQuotes) return { reject: 'bad_quotes' };
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(identifier)) return { reject: 'bad_identifier' };
  if (/^[0-]*$/.test(identifier)) return { reject: 'opted_out' };
  if (options.layout === 'audience') {
    return Buffer.byteLength(values[0]!) > 256 ? { reject: 'event_too_long' } : { keys: [values[0]!] };
  }
  const given = values.filter((key) => key !== '');
  const attributes = given.map((key) => options.keys.get(key));
  if (given.length === 0) return { reject: 'missing_key' };
  if (attributes.includes(undefined)) return { reject: 'unknown_key' };
  return { keys: [...new Set(attributes.map(String))] };
}

const IDENTIFIERS = /(?=([0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}))/gi;

/** At most 200 bytes, without half a character or a part of an identifier at the end. */
function cutRaw(latin1: string): { raw: string; isCut?: true } {
  const found = Array.from(
    latin1.matchAll(IDENTIFIERS),
    ({ index, 1: text }) => [index, text!.length] as const,
  );
  let length = Math.min(200, latin1.length);
  for (const [from, size] of found.reverse()) if (from < length && from + size > length) length = from;
  let raw = latin1.slice(0, length);
  while (!isText(raw, false)) raw = raw.slice(0, -1);
  return { raw: utf8(raw), ...(latin1.length > 200 ? { isCut: true } : {}) };
}

export function readFileOracle(bytes: Buffer, options: OracleOptions): FileVerdict {
  const verdict: FileVerdict = {
    failure: null,
    rows: 0,
    accepted: 0,
    rejected: {},
    devices: new Map(),
    events: new Map(),
    pairsRead: 0,
    rejects: [],
  };
  const failed = (code: string, line?: number): FileVerdict => {
    verdict.failure = line === undefined ? { code } : { code, line };
    return verdict;
  };

  let content = bytes;
  if (options.compressed) {
    try {
      content = gunzipSync(bytes);
    } catch {
      return failed('bad_gzip');
    }
  }
  if (content[0] === 0x1f && content[1] === 0x8b) return failed('not_text', 1);

  for (const record of recordsOf(content.toString('latin1').replace(/^\xef\xbb\xbf/, ''))) {
    const failure = failureOf(record);
    if (failure) return failed(failure.code, failure.line);
    if (isBlank(record.raw) || (record.first && isHeader(record))) continue;
    if (options.layout === 'audience' && !record.badQuotes && record.fields.length !== 2) {
      return failed('column_count', record.line);
    }
    verdict.rows++;
    const judged = judge(record, options);
    if ('reject' in judged) {
      verdict.rejected[judged.reject] = (verdict.rejected[judged.reject] ?? 0) + 1;
      verdict.rejects.push({ line: record.line, code: judged.reject, ...cutRaw(record.raw) });
      continue;
    }
    verdict.accepted++;
    for (const key of judged.keys) {
      verdict.pairsRead++;
      const devices = verdict.devices.get(key) ?? new Set();
      verdict.devices.set(key, devices.add(record.fields[0]!.toLowerCase()));
      if (options.layout === 'audience') verdict.events.set(key, (verdict.events.get(key) ?? 0) + 1);
    }
  }
  if (verdict.events.size > 1_000) {
    verdict.devices = new Map([
      ['(other)', new Set([...verdict.devices.values()].flatMap((set) => [...set]))],
    ]);
    verdict.events = new Map([['(other)', verdict.accepted]]);
  }
  if (verdict.rows === 0) return failed('empty_file');
  const { opted_out: _, ...malformed } = verdict.rejected;
  const invalid = Object.values(malformed).reduce((sum, count) => sum + count, 0);
  if (invalid > (options.maxInvalidShare ?? 0.05) * verdict.rows) return failed('too_many_invalid');
  return verdict;
}
