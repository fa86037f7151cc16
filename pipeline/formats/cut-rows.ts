/**
 * Cuts a file into batches of whole rows. The cuts depend only on the bytes and `batchBytes`, not on the chunks in which the
 * bytes arrive: a file that is cut again, or resumed, gives the same batches with the same numbers.
 *
 * It decides only on a full window of bytes (or at the end of the file). This makes it independent of chunks and bounds its
 * memory: one window, and one batch held back until it is known whether it is the last.
 */
import { isUtf8 } from 'node:buffer';
import type { FileFailure } from '../../schemas/job-documents.ts';
import type { LedgerDocument } from '../../schemas/stage-documents.ts';
import type { RowBatch } from '../../schemas/topics.ts';
import { compressionIn } from './compressions.ts';
import { COMMA, detectDelimiter, isHeader, skipBlankLine } from './head.ts';
import { countLines, endOfPlainRows, endOfRow, isRowTooLong, MAX_ROW_WINDOW } from './row-end.ts';

const QUOTE = 0x22;
const LF = 0x0a;
const BYTE_ORDER_MARK = Buffer.from('\ufeff');

/**
 * A batch, with the fields of the message that carries it.
 * - `batch`: 0, 1, 2, …
 * - `last`: the file ends here, with rows or with a failure. True for exactly one batch.
 * - `start`, `end`: offsets in the decompressed file, without gaps: the first start is 0, every other start is the previous end. A
 *   byte-order mark, blank lines before the first row and the header belong to batch 0, but are not in its `rows`.
 * - `first_line`: line (from 1) of the first byte of `rows`.
 * - `lines`: lines that begin in [start, end), including those of the head. So the first line of batch n > 0 is 1 + the sum of the
 *   lines of all earlier batches; only batch 0 may have a greater first line (after its head).
 * - `delimiter`: the byte between fields. Only the cutter and the parser interpret it; stages and ledger pass it through.
 * - `rows`: whole rows; a view, so copy before changing it.
 * - `failure`: why the file cannot be read any further. Such a batch is the last and spans no bytes.
 */
export type Cut = Omit<RowBatch, 'job' | 'file' | 'partner' | 'layout' | 'path' | 'attempt'>;

/** The last batch that need not be read again, as stored in the ledger. Opaque to all but the row format. */
export type ResumePoint = Pick<LedgerDocument, 'batch' | 'end' | 'firstLine' | 'lines' | 'delimiter'>;

export interface RowCutter {
  push(chunk: Buffer): Cut[];
  finish(): Cut[];
  /** Ends the file with a failure found by the caller (corrupt gzip, a file that changed). */
  fail(failure: FileFailure): Cut[];
}

export function createRowCutter(batchBytes: number, resume: ResumePoint | null): RowCutter {
  const windowBytes = Math.max(batchBytes, MAX_ROW_WINDOW);
  let window: Buffer = Buffer.alloc(0);
  const incoming: Buffer[] = [];
  let incomingBytes = 0;

  let batch = resume ? resume.batch + 1 : 0;
  let start = resume?.end ?? 0;
  let line = resume ? (resume.batch === 0 ? 1 : resume.firstLine) + resume.lines : 1;
  /** Offset of `window` in the file. Differs from `start` only while the head of the file is read. */
  let position = start;
  let linesOfHead = 0;
  /** 0 until the first row has been seen. */
  let delimiter = resume?.delimiter ?? 0;
  let held: Cut | null = null;
  let cuts: Cut[] = [];
  let ended = false;

  /** Drops the first bytes of the window, which are whole lines. */
  const consume = (bytes: number): number => {
    const lines = countLines(window, 0, bytes);
    window = window.subarray(bytes);
    position += bytes;
    line += lines;
    return lines;
  };

  const release = () => {
    if (held) cuts.push(held);
    held = null;
  };

  const emptyCut = (): Cut => ({
    batch,
    last: false,
    start,
    end: start,
    first_line: line,
    lines: 0,
    delimiter: delimiter || COMMA,
    rows: Buffer.alloc(0),
    failure: null,
  });

  const fail = ({ code, message, line: at }: FileFailure) => {
    release();
    cuts.push({ ...emptyCut(), last: true, failure: { code, message, line: at ?? null } });
    ended = true;
  };

  const hold = (length: number) => {
    release();
    const cut = emptyCut();
    const rows = window.subarray(0, length);
    const lines = linesOfHead + consume(length);
    held = { ...cut, end: position, lines, rows };
    linesOfHead = 0;
    batch++;
    start = position;
  };

  const failsAsText = (length: number): boolean => {
    const bad = findNotText(window.subarray(0, length));
    if (bad < 0) return false;
    const at = line + countLines(window, 0, bad + 1) - 1;
    fail({ code: 'not_text', message: `Line ${at} is not UTF-8 text.`, line: at });
    return true;
  };

  /** Byte-order mark, blank lines, delimiter, header. False if more bytes are needed. */
  const readHead = (atEnd: boolean): boolean => {
    if (position === 0) {
      const found = compressionIn(window);
      if (found) {
        const message = `The file is ${found.name}, but was read as plain text.`;
        fail({ code: 'not_text', message, line: 1 });
        return true;
      }
      if (window.subarray(0, 3).equals(BYTE_ORDER_MARK)) {
        window = window.subarray(3);
        position = 3;
      }
    }
    let blank = 0;
    while (blank < window.length) {
      const next = skipBlankLine(window, blank, window.length);
      if (next < 0 || (!atEnd && window[next - 1] !== LF) || isRowTooLong(window, blank, next)) break;
      blank = next;
    }
    linesOfHead += consume(blank);
    if (window.length === 0 || (!atEnd && window.length < windowBytes)) return false;
    const to = Math.min(window.length, MAX_ROW_WINDOW);
    delimiter = detectDelimiter(window, 0, to);
    const end = endOfRow(window, 0, to, delimiter);
    const row = end < 0 && to === window.length && atEnd ? to : end;
    if (row > 0 && !isRowTooLong(window, 0, row) && isHeader(window, 0, row) && !failsAsText(row)) {
      linesOfHead += consume(row);
    }
    return true;
  };

  const cutNext = (atEnd: boolean) => {
    const length = rowsThatFit(window, batchBytes, delimiter, atEnd);
    if (failsAsText(length || wholeCharacters(window, MAX_ROW_WINDOW))) return;
    if (length > 0) hold(length);
    else fail({ code: 'line_too_long', message: `Line ${line} is longer than 64 KiB.`, line });
  };

  const advance = (atEnd: boolean) => {
    if (!atEnd && window.length + incomingBytes < windowBytes) return;
    window = Buffer.concat([window, ...incoming.splice(0)]);
    incomingBytes = 0;
    while (!ended && window.length > 0 && (atEnd || window.length >= windowBytes)) {
      if (delimiter !== 0) cutNext(atEnd);
      else if (!readHead(atEnd)) break;
    }
  };

  const take = (): Cut[] => {
    const taken = cuts;
    cuts = [];
    return taken;
  };

  return {
    push(chunk) {
      if (ended) return [];
      incoming.push(chunk);
      incomingBytes += chunk.length;
      advance(false);
      return take();
    },
    finish() {
      if (ended) return [];
      advance(true);
      // A file without rows also has one batch.
      if (!ended && (held === null || position > start)) hold(0);
      if (held !== null) held.last = !ended;
      release();
      ended = true;
      return take();
    },
    fail(failure) {
      if (!ended) fail(failure);
      return take();
    },
  };
}

/** Length of the rows at the start of the window that make up the next batch; 0 if the first row is too long. */
function rowsThatFit(window: Buffer, batchBytes: number, delimiter: number, atEnd: boolean): number {
  const whole = atEnd && window.length <= batchBytes;
  const limit = whole ? window.length : Math.min(batchBytes, window.length);
  let end = 0;
  if (!window.subarray(0, limit).includes(QUOTE)) {
    end = endOfPlainRows(window, 0, limit);
    if (end > 0 && !whole) return end;
  }
  // Row by row if there are quotes, at the end of the file, and if the first row alone exceeds the batch.
  while (end < limit) {
    const to = Math.min(window.length, end + MAX_ROW_WINDOW);
    let next = endOfRow(window, end, to, delimiter);
    if (next < 0 && atEnd && to === window.length) next = to;
    if (next < 0 || isRowTooLong(window, end, next)) break;
    if (next > batchBytes && end > 0) break;
    end = next;
  }
  return end;
}

/** `limit` or slightly less, so that no character is split. */
function wholeCharacters(bytes: Buffer, limit: number): number {
  if (bytes.length <= limit) return bytes.length;
  let end = limit;
  while (end > limit - 3 && (bytes[end]! & 0xc0) === 0x80) end--;
  return end;
}

/** Offset of the first line that is not text, or -1. */
function findNotText(bytes: Buffer): number {
  const nul = bytes.indexOf(0);
  if (nul < 0 && isUtf8(bytes)) return -1;
  // This happens once per file at most, so it may be slow. No character spans a newline.
  for (let at = 0; at < bytes.length; ) {
    const newline = bytes.indexOf(LF, at);
    const end = newline < 0 ? bytes.length : newline + 1;
    const text = bytes.subarray(at, end);
    if (text.indexOf(0) >= 0 || !isUtf8(text)) return at;
    at = end;
  }
  return -1;
}
