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

const OBJECT = 0x03;
const STRING = 0x02;
const BINARY = 0x05;
const INT32 = 0x10;
const UNDERSCORE = 0x5f;
const D = 0x64;
const K = 0x6b;
const V = 0x76;
/** Bytes before the value of `_id`, of `d` and `k`, and of `v`: type, zero-terminated name, length, subtype. */
const ID_HEAD = 9;
const HEAD = 8;
const NUMBER_HEAD = 3;
const FIRST_BATCH = Buffer.from('firstBatch');
const ID = Buffer.from('id');

/** The pages of a command's reply, in order; `cursor` is that field of the reply, in BSON. */
export function pagesIn(cursor: Buffer): StoredPage[] {
  const pages: StoredPage[] = [];
  let at = batchIn(cursor);
  for (let before: StoredPage | undefined; cursor[at] === OBJECT; ) {
    // Skip the name of the array element, which is its index.
    while (cursor[at++] !== 0);
    const page = pageAt(cursor, at, before);
    pages.push(page);
    before = page;
    at += cursor.readInt32LE(at);
  }
  return pages;
}

/** The open cursor if not everything fit into this reply; 0 if the reply is complete. */
export const openCursorIn = (cursor: Buffer): bigint => cursor.readBigInt64LE(fieldIn(cursor, ID));

const batchIn = (cursor: Buffer): number => fieldIn(cursor, FIRST_BATCH) + 4;

/** Offset of a field's value. */
function fieldIn(cursor: Buffer, field: Buffer): number {
  for (const [, name, nameLength, at] of BSON.onDemand.parseToElements(cursor))
    if (field.equals(cursor.subarray(name, name + nameLength))) return at;
  throw new TypeError(`a reply has no ${field}`);
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

function isText(bytes: Buffer, from: number, to: number, text: string | undefined): boolean {
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
