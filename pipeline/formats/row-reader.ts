/** Splits rows into fields (RFC 4180) without creating strings: a row is a list of offsets. */
import { grown } from './byte-list.ts';

const SPACE = 0x20;
const QUOTE = 0x22;
const LF = 0x0a;
const CR = 0x0d;

export class RowReader {
  /** Fields of the current row: bytes [starts[n], ends[n]) of `source`, for n < columns. Includes surrounding spaces; see trim(). */
  starts = new Int32Array(64);
  ends = new Int32Array(64);
  columns = 0;
  /** The bytes read, or, if the row has `""`, a copy of the row with `"` instead. */
  source: Buffer = Buffer.alloc(0);
  /** Offset after the row and its line ending. */
  next = 0;
  /** Newlines in the row, including the one that ends it. */
  newlines = 0;
  /** A quoted field was not closed, or text followed its closing quote. */
  badQuotes = false;

  #escapes = false;

  /** Reads the row at `at`. `known`: the first field extends at least to here. */
  read(bytes: Buffer, at: number, delimiter: number, known = at): void {
    this.columns = 0;
    this.newlines = 0;
    this.badQuotes = false;
    this.#escapes = false;
    this.source = bytes;
    const to = bytes.length;
    let place = known;
    let start = at;
    for (;;) {
      let end: number;
      // One comparison rules out both a space and a quote, which few fields start with.
      const quote = bytes[start]! <= QUOTE ? skipSpaces(bytes, start) : start;
      if (bytes[quote] === QUOTE) {
        const closed = this.#skipQuoted(bytes, quote);
        const behind = skipSpaces(bytes, closed);
        place = behind;
        while (place < to && bytes[place] !== delimiter && bytes[place] !== LF) place++;
        const atLineEnd = place === to || bytes[place] === LF;
        const junk = place - behind - (atLineEnd && place > behind && bytes[place - 1] === CR ? 1 : 0);
        if (junk > 0) this.badQuotes = true;
        start = quote + 1;
        end = closed - 1;
      } else {
        while (place < to && bytes[place] !== delimiter && bytes[place] !== LF) place++;
        end = place;
        if ((place === to || bytes[place] === LF) && end > start && bytes[end - 1] === CR) end--;
      }
      if (this.columns === this.starts.length) this.#grow();
      this.starts[this.columns] = start;
      this.ends[this.columns++] = end;
      if (place < to && bytes[place] === delimiter) {
        start = ++place;
        continue;
      }
      if (place < to) this.newlines++;
      this.next = Math.min(place + 1, to);
      if (this.#escapes && !this.badQuotes) this.#unescape(bytes);
      return;
    }
  }

  /** Drops spaces around a field, inside quotes, too. Separate from reading, because most fields have none. */
  trim(column: number): void {
    const { source } = this;
    let end = this.ends[column]!;
    const start = Math.min(end, skipSpaces(source, this.starts[column]!));
    while (end > start && source[end - 1] === SPACE) end--;
    this.starts[column] = start;
    this.ends[column] = end;
  }

  /** Offset after the closing quote. */
  #skipQuoted(bytes: Buffer, start: number): number {
    for (let at = start + 1; at < bytes.length; at++) {
      if (bytes[at] === LF) this.newlines++;
      if (bytes[at] !== QUOTE) continue;
      if (bytes[at + 1] !== QUOTE) return at + 1;
      this.#escapes = true;
      at++;
    }
    this.badQuotes = true;
    return bytes.length;
  }

  /** Copies the fields, back to back, with every `""` in a quoted field replaced by `"`. Rare, so it may be slow. */
  #unescape(bytes: Buffer): void {
    const first = this.starts[0]!;
    const copy = Buffer.alloc(this.next - first);
    let to = 0;
    for (let column = 0; column < this.columns; column++) {
      const start = this.starts[column]!;
      const end = this.ends[column]!;
      const quoted = start > 0 && bytes[start - 1] === QUOTE;
      this.starts[column] = to;
      for (let at = start; at < end; at++) {
        copy[to++] = bytes[at]!;
        if (quoted && bytes[at] === QUOTE) at++;
      }
      this.ends[column] = to;
    }
    this.source = copy;
  }

  #grow(): void {
    this.starts = grown(this.starts, 2 * this.columns);
    this.ends = grown(this.ends, 2 * this.columns);
  }
}

function skipSpaces(bytes: Uint8Array, at: number): number {
  while (bytes[at] === SPACE) at++;
  return at;
}
