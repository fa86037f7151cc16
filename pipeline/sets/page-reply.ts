/**
 * Views of pages in the raw reply of the server. A look-up may read ten thousand pages: deserializing the documents and collecting the
 * garbage would take several times as long as finding the pages.
 */
import { BSON } from 'mongodb';
import { ADDRESS_DIGITS } from './regions.ts';

export interface StoredPage {
  /** The page's id without the address. */
  level: string;
  /** The first address of the page. */
  start: number;
  /** Shared by many pages. */
  reply: Buffer;
  /** Offsets of the identifiers and the keys. */
  devices: number;
  devicesEnd: number;
  keys: number;
  keysEnd: number;
  /** Version of the page. */
  changes: number;
}

export const OBJECT = 0x03;
export const STRING = 0x02;
export const BINARY = 0x05;
const INT32 = 0x10;
const UNDERSCORE = 0x5f;
const D = 0x64;
const K = 0x6b;
const V = 0x76;
/** Bytes before the value of `_id`, of `d` and `k`, and of `v`: type, zero-terminated name, length, subtype. */
const ID_HEAD = 9;
const HEAD = 8;
const NUMBER_HEAD = 3;
const BATCHES = ['firstBatch', 'nextBatch'].map((name) => Buffer.from(name));
const ID = [Buffer.from('id')];

/** The pages of a command's reply, in order; `cursor` is that field of the reply, in BSON. */
export function pagesIn(cursor: Buffer): StoredPage[] {
  const pages: StoredPage[] = [];
  for (const document of documentsIn(cursor)) pages.push(pageAt(cursor, document, pages.at(-1)));
  return pages;
}

/** The offsets of a reply's documents. */
export function* documentsIn(cursor: Buffer): Generator<number> {
  for (let at = fieldIn(cursor, BATCHES) + 4; cursor[at] === OBJECT; at += cursor.readInt32LE(at)) {
    // Skip the name of the array element, which is its index.
    while (cursor[at++] !== 0);
    yield at;
  }
}

/** The open cursor if not everything fit into this reply; 0 if the reply is complete. */
export const openCursorIn = (cursor: Buffer): bigint => cursor.readBigInt64LE(fieldIn(cursor, ID));

/** Offset of the value of a field with one of these names. */
function fieldIn(cursor: Buffer, names: Buffer[]): number {
  for (const [, from, length, at] of BSON.onDemand.parseToElements(cursor))
    if (names.some((name) => name.equals(cursor.subarray(from, from + length)))) return at;
  throw new TypeError(`a reply has no ${names.join(' or ')}`);
}

function pageAt(reply: Buffer, document: number, before: StoredPage | undefined): StoredPage {
  const page = { level: '', start: 0, reply, devices: 0, devicesEnd: 0, keys: 0, keysEnd: 0, changes: 0 };
  for (let at = document + 4; reply[at] !== 0; ) {
    const type = reply[at];
    const name = reply[at + 1];
    if (type === STRING && name === UNDERSCORE) {
      const id = at + ID_HEAD;
      at = id + reply.readInt32LE(id - 4);
      const address = at - 1 - ADDRESS_DIGITS;
      page.level = isText(reply, id, address, before?.level)
        ? before!.level
        : reply.toString('latin1', id, address);
      page.start = hexAt(reply, address);
    } else if (type === BINARY && (name === D || name === K)) {
      const bytes = at + HEAD;
      at = bytes + reply.readInt32LE(bytes - 5);
      if (name === D) {
        page.devices = bytes;
        page.devicesEnd = at;
      } else {
        page.keys = bytes;
        page.keysEnd = at;
      }
    } else if (type === INT32 && name === V) {
      page.changes = reply.readInt32LE(at + NUMBER_HEAD);
      at += NUMBER_HEAD + 4;
    } else throw new TypeError(`a page has a field of type ${type}`);
  }
  return page;
}

export function isText(bytes: Buffer, from: number, to: number, text: string | undefined): boolean {
  if (text?.length !== to - from) return false;
  // Backwards, because different ids differ at the end.
  for (let i = to - from - 1; i >= 0; i--) if (bytes[from + i] !== text.charCodeAt(i)) return false;
  return true;
}

const ZERO = 0x30;
const NINE = 0x39;
const A = 0x61;

function hexAt(bytes: Buffer, from: number): number {
  let value = 0;
  for (let at = from; at < from + ADDRESS_DIGITS; at++) {
    const digit = bytes[at]!;
    value = value * 16 + (digit <= NINE ? digit - ZERO : digit - A + 10);
  }
  return value;
}
