/**
 * Parses the rows of one batch: how many are accepted, why the others are rejected, and the distinct devices by slot and key.
 * An accepted row allocates nothing.
 */
import type { RejectCode } from '../../schemas/codes.ts';
import type { RowBatch } from '../../schemas/topics.ts';
import { DevicePairs, type SlotPairs, type Slots } from './device-pairs.ts';
import { cutOutsideIdentifiers } from './find-identifiers.ts';
import { skipBlankLine } from './head.ts';
import { IDENTIFIER_TEXT, Parsed, parseIdentifier, WORDS } from './identifier.ts';
import type { KeyTable } from './key-table.ts';
import {
  createAttributeLayout,
  createAudienceLayout,
  createIdentifierLayout,
  type RowLayout,
} from './row-layouts.ts';
import { RowReader } from './row-reader.ts';

export { OTHER_EVENTS } from './row-layouts.ts';

const RAW_BYTES = 200;
const SPACE = 0x20;
const LF = 0x0a;
const CR = 0x0d;

/** Whole rows in valid UTF-8, as the cutter returns them. */
export type BatchToParse = Pick<RowBatch, 'rows' | 'first_line' | 'delimiter' | 'layout'>;

export interface ParseOptions {
  /** Required for attributes. */
  keys?: KeyTable;
  /** Absent: pairs are counted but not divided into slots. */
  slots?: Slots;
  maxRejects: number;
}

export interface RejectedRow {
  line: number;
  code: RejectCode;
  /** Without its line ending, cut at 200 bytes, or before an identifier that reaches beyond them. */
  raw: string;
  isCut?: true;
}

export interface ParsedRows {
  /** rows = accepted + all rejected. The row that fails the file is not counted. */
  rows: number;
  accepted: number;
  /** Lines of the batch, up to the row that fails the file. */
  lines: number;
  /** Pairs of device and key of the accepted rows, and the distinct ones among them. */
  pairsRead: number;
  pairs: number;
  rejected: Partial<Record<RejectCode, number>>;
  rejects: RejectedRow[];
  /** Slots that have pairs. Groups and their devices are in order of appearance. */
  slots: SlotPairs[];
  /** Accepted rows by event, in order of appearance. Audience only. */
  events?: { event: string; rows: number }[];
  /** This batch alone has too many events: all of them are counted as OTHER_EVENTS. */
  eventsOverflow?: boolean;
  /** If set, `slots` is empty and no pairs are counted. */
  failure?: { code: 'column_count'; message: string; line: number };
}

// Reused for every batch: parseRows is synchronous, so no two batches use them at once.
const reader = new RowReader();
const pairs = new DevicePairs();
const device = new Uint32Array(WORDS);

export function parseRows(batch: BatchToParse, { keys, ...options }: ParseOptions): ParsedRows {
  if (batch.layout === 'attributes') {
    if (!keys) throw new TypeError('rows with attributes need a key table');
    return parse(batch, options, createAttributeLayout(keys));
  }
  if (batch.layout === 'identifiers') return parse(batch, options, createIdentifierLayout());
  let layout = createAudienceLayout(false);
  let parsed = parse(batch, options, layout);
  const eventsOverflow = layout.overflow;
  if (eventsOverflow) {
    layout = createAudienceLayout(true);
    parsed = parse(batch, options, layout);
  }
  return { ...parsed, events: parsed.failure ? [] : layout.events(), eventsOverflow };
}

function parse(
  batch: BatchToParse,
  { maxRejects, slots }: Omit<ParseOptions, 'keys'>,
  layout: RowLayout,
): ParsedRows {
  const { rows: bytes, first_line: firstLine, delimiter } = batch;
  pairs.clear();
  const rejected: ParsedRows['rejected'] = {};
  const rejects: RejectedRow[] = [];
  let failure: ParsedRows['failure'];
  let rows = 0;
  let accepted = 0;
  let lines = 0;

  for (let at = 0; at < bytes.length; at = reader.next) {
    if (bytes[at]! <= SPACE) {
      const next = skipBlankLine(bytes, at, bytes.length);
      if (next >= 0) {
        reader.next = next;
        if (bytes[next - 1] === LF) lines++;
        continue;
      }
    }
    // Most rows begin with an identifier: parsing it first saves the search for the end of the field.
    let identifier = parseIdentifier(bytes, at, device);
    reader.read(bytes, at, delimiter, identifier === Parsed.bad ? at : at + IDENTIFIER_TEXT);
    const line = firstLine + lines;
    lines += reader.newlines;

    let code: RejectCode | null;
    if (reader.badQuotes) code = 'bad_quotes';
    else if (layout.columns !== undefined && reader.columns !== layout.columns) {
      lines -= reader.newlines;
      const found = `Line ${line} has ${reader.columns} column${reader.columns === 1 ? '' : 's'}`;
      const hint = reader.columns < layout.columns ? ' Without an event, keep the delimiter.' : '';
      failure = { code: 'column_count', message: `${found}, not ${layout.columns}.${hint}`, line };
      break;
    } else {
      const start = reader.starts[0]!;
      if (reader.ends[0]! - start !== IDENTIFIER_TEXT) identifier = parsePadded();
      else if (start !== at || reader.source !== bytes) {
        identifier = parseIdentifier(reader.source, start, device);
      }
      if (identifier === Parsed.bad) code = 'bad_identifier';
      else if (identifier === Parsed.zeros) code = 'opted_out';
      else code = layout.take(reader, device, pairs);
    }

    rows++;
    if (code === null) accepted++;
    else {
      rejected[code] = (rejected[code] ?? 0) + 1;
      if (rejects.length < maxRejects) rejects.push({ line, code, ...rawRow(bytes, at, reader.next) });
    }
  }
  // The last line counts even without a newline.
  if (!failure && bytes.length > 0 && bytes[bytes.length - 1] !== LF) lines++;
  const counted = { rows, accepted, lines, rejected, rejects };
  if (failure) return { ...counted, pairsRead: 0, pairs: 0, slots: [], failure };
  return {
    ...counted,
    pairsRead: layout.pairsRead,
    pairs: pairs.size,
    slots: slots ? pairs.bySlot(layout.names(), slots) : [],
  };
}

/** The identifier of the row if it has spaces around it. */
function parsePadded(): Parsed {
  reader.trim(0);
  const start = reader.starts[0]!;
  const isLong = reader.ends[0]! - start === IDENTIFIER_TEXT;
  return isLong ? parseIdentifier(reader.source, start, device) : Parsed.bad;
}

function rawRow(bytes: Buffer, start: number, next: number): Pick<RejectedRow, 'raw' | 'isCut'> {
  let end = next;
  if (bytes[end - 1] === LF) end--;
  if (end > start && bytes[end - 1] === CR) end--;
  if (end - start <= RAW_BYTES) return { raw: bytes.toString('utf8', start, end) };
  end = start + cutOutsideIdentifiers(bytes.subarray(start, end), RAW_BYTES);
  while ((bytes[end]! & 0xc0) === 0x80) end--;
  return { raw: bytes.toString('utf8', start, end), isCut: true };
}
