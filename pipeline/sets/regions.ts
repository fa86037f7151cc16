/**
 * The layout of devices in a slot of a space, an LSM tree. Regions are address prefixes that cover the slot. A region has levels, largest
 * first: a change is written as a small level at the end, and compaction merges levels before there are many. A level has pages by longer
 * prefixes, so the page that may hold a device is computed, not looked up; empty pages do not exist.
 *
 * The hash fills pages evenly. In any case no page exceeds its limit: a region is split down to a single address, and beyond that by
 * identifier. The pages of a single address are numbered, and a look-up reads all pages of such a region.
 */
import type { LevelEntry, PageDocument, RegionEntry } from '../../schemas/stage-documents.ts';
import { tuning } from '../../schemas/tuning.ts';
import { ADDRESS_BITS, WORDS } from '../formats/identifier.ts';
import { type Devices, firstKey, positionOf, positionOfDevice, sizeOf, slice } from './devices.ts';
import { encode } from './page-format.ts';

export interface Layout {
  /** Maximum average page size. Small, because a look-up reads one page. */
  pageBytes: number;
  /** Hard page size limit, however devices and keys are distributed. Far below the limit of a document. */
  maxPageBytes: number;
  /** A larger region is split. A region is rewritten as a whole, in memory. */
  regionBytes: number;
  /** A level is at least this many times as large as all smaller levels together. */
  levelRatio: number;
}

export const defaultLayout: Layout = {
  pageBytes: 4_096,
  maxPageBytes: 1 << 20,
  regionBytes: tuning.regionBytes,
  levelRatio: 8,
};

/** A page with this many times the average devices shows that its region is uneven and must be split. */
const UNEVEN = 8;
const FEW_DEVICES = 64;
/** A part of a merge that is smaller than this share of a full region does not get regions of its own. */
const LEAST_PART = 1 / 8;

export const wholeSlot: RegionEntry = { start: 0, bits: 0, levels: [] };

export const endOf = ({ start, bits }: RegionEntry): number => start + 2 ** (ADDRESS_BITS - bits);
/** Prefix of the ids of a level's pages, followed by the first address of each. */
export const levelId = (manifest: string, { token }: LevelEntry) => `${manifest}:${token}:`;
export const ADDRESS_DIGITS = ADDRESS_BITS / 4;
const LAST_PAGE = 2 ** ADDRESS_BITS - 1;
export const pageId = (level: string, start: number) =>
  level + start.toString(16).padStart(ADDRESS_DIGITS, '0');
export const pageSize = ({ pageBits }: LevelEntry): number => 2 ** (ADDRESS_BITS - pageBits);
/** First address of the page that holds an address. */
export const pageOf = (level: LevelEntry, address: number): number => address - (address % pageSize(level));

/** The positions of a region's devices, `to` exclusive. */
export function rangeIn(devices: Devices, region: RegionEntry): [from: number, to: number] {
  const { start, from, to } = region;
  return [
    from === undefined ? positionOf(devices, start) : positionOfDevice(devices, start, toWords(from)),
    to === undefined ? positionOf(devices, endOf(region)) : positionOfDevice(devices, start, toWords(to)),
  ];
}

/** Whether a region starts at or after the end of another. Splitting regions keeps their boundaries. */
export function isBehind({ start, from = '' }: RegionEntry, other: RegionEntry): boolean {
  if (other.to === undefined) return start >= endOf(other);
  return start > other.start || (start === other.start && from >= other.to);
}

const WORD_DIGITS = 8;

/** An identifier as text with the same sort order. */
const textOf = ({ words }: Devices, n: number): string =>
  Array.from(words.subarray(n * WORDS, (n + 1) * WORDS), (word) =>
    word.toString(16).padStart(WORD_DIGITS, '0'),
  ).join('');

const toWords = (text: string): Uint32Array =>
  Uint32Array.from({ length: WORDS }, (_, word) =>
    Number.parseInt(text.slice(word * WORD_DIGITS, (word + 1) * WORD_DIGITS), 16),
  );

/** Ids `from` to `to`, inclusive. */
export interface IdRange {
  from: string;
  to: string;
}

/** All pages of a level. */
export const pagesOf = (manifest: string, level: LevelEntry, region: RegionEntry): IdRange => ({
  from: pageId(levelId(manifest, level), level.numbered ? 0 : region.start),
  to: pageId(levelId(manifest, level), level.numbered ? LAST_PAGE : endOf(region) - 1),
});

/** Id of the renewal of an edit's lease. It sorts before all pages of the edit. */
export const renewalId = (manifest: string, token: string) => `${manifest}:${token}`;

/** All documents written by one edit. */
export const writtenWith = (manifest: string, token: string): IdRange => ({
  from: `${manifest}:${token}`,
  to: `${manifest}:${token}~`,
});

/**
 * Compaction: how many levels stay unchanged when `added` bytes come; the others are merged with them. `ratio` is randomised, because
 * regions grow alike and would otherwise all be compacted at once.
 */
export function levelsToKeep({ levels }: RegionEntry, added: number, ratio: number): number {
  let behind = added;
  let keep = levels.length;
  for (let i = levels.length - 1; i >= 0; i--) {
    if (levels[i]!.bytes < behind * ratio) keep = i;
    behind += levels[i]!.bytes;
  }
  return keep;
}

export const withChance = (ratio: number) => ratio * (0.75 + Math.random() / 2);

interface LaidOut {
  level: LevelEntry;
  pages: PageDocument[];
}

/** Creates the pages of new levels. Each level has its own token, because a merge may rewrite a region more than once. */
export function createLayOut(manifest: string, merge: string, layout: Layout) {
  let levels = 0;
  const newLevel = (pageBits: number): LevelEntry => ({
    token: `${merge}.${(levels++).toString(36)}`,
    pageBits,
    pages: 0,
    bytes: 0,
  });

  /** Undefined if it would be too uneven. */
  function asLevel(devices: Devices, { bits }: RegionEntry): LaidOut | undefined {
    if (bits === ADDRESS_BITS) return asNumbered(devices);
    const wanted = Math.ceil(Math.log2(sizeOf(devices) / layout.pageBytes));
    const pageBits = Math.min(ADDRESS_BITS, bits + Math.max(0, wanted));
    const most = FEW_DEVICES + (UNEVEN * devices.count) / 2 ** (pageBits - bits);
    const level = newLevel(pageBits);
    const id = levelId(manifest, level);
    const pages: PageDocument[] = [];
    for (let from = 0; from < devices.count; ) {
      const page = pageOf(level, devices.addresses[from]!);
      const to = positionOf(devices, page + pageSize(level), from);
      if (to - from > most) return undefined;
      const { devices: d, keys: k } = encode(devices, from, to);
      if (d.length + k.length > layout.maxPageBytes) return undefined;
      level.bytes += d.length + k.length;
      pages.push({ _id: pageId(id, page), d, k });
      from = to;
    }
    level.pages = pages.length;
    return { level, pages };
  }

  function asNumbered(devices: Devices): LaidOut {
    const level: LevelEntry = { ...newLevel(ADDRESS_BITS), numbered: true };
    const id = levelId(manifest, level);
    const pages: PageDocument[] = [];
    for (const piece of piecesOf(devices, layout.maxPageBytes)) {
      const { devices: d, keys: k } = encode(piece);
      level.bytes += d.length + k.length;
      pages.push({ _id: pageId(id, pages.length), d, k });
    }
    level.pages = pages.length;
    return { level, pages };
  }

  /** One region, or several if it would be too large or too uneven. */
  function* asRegions(devices: Devices, region: RegionEntry): Generator<[RegionEntry, PageDocument[]]> {
    if (devices.count === 0) {
      yield [{ ...region, levels: [] }, []];
      return;
    }
    if (devices.count === 1 || (sizeOf(devices) <= layout.regionBytes && !isPart(devices, region))) {
      const laidOut = asLevel(devices, region);
      if (laidOut) {
        yield [{ ...region, levels: [laidOut.level] }, laidOut.pages];
        return;
      }
    }
    const split = region.bits < ADDRESS_BITS ? halve : splitAddress;
    const { cut, before, behind } = split(devices, region);
    yield* asRegions(slice(devices, 0, cut), before);
    yield* asRegions(slice(devices, cut, devices.count), behind);
  }

  /** Whether it is one part of a large change: the parts that follow get regions of their own, and do not rewrite this one. */
  const isPart = (devices: Devices, region: RegionEntry) =>
    region.bits < ADDRESS_BITS &&
    sizeOf(devices) > layout.regionBytes * LEAST_PART &&
    [0, devices.count].includes(positionOf(devices, middleOf(region)));

  return { asLevel, asRegions };
}

const middleOf = (region: RegionEntry) => (region.start + endOf(region)) / 2;

/** Splits a region by the next bit of the address. */
function halve(devices: Devices, region: RegionEntry) {
  const bits = region.bits + 1;
  const middle = middleOf(region);
  return {
    cut: positionOf(devices, middle),
    before: { ...region, bits },
    behind: { ...region, bits, start: middle },
  };
}

/** Splits a region of a single address by identifier. */
function splitAddress(devices: Devices, region: RegionEntry) {
  const cut = devices.count >>> 1;
  const middle = textOf(devices, cut);
  return { cut, before: { ...region, to: middle }, behind: { ...region, from: middle } };
}

/** Maximum encoded size of a device and of each key. */
const DEVICE_BYTES = 17;
const KEY_BYTES = 5;

/** Pieces that fit into a page: several devices, or some of the keys of one. */
function* piecesOf(devices: Devices, maxBytes: number): Generator<Devices> {
  const bytesOf = (from: number, to: number) =>
    (to - from) * DEVICE_BYTES + (firstKey(devices, to) - firstKey(devices, from)) * KEY_BYTES;
  const maxKeys = Math.max(1, Math.floor((maxBytes - DEVICE_BYTES) / KEY_BYTES));
  for (let from = 0, to = 1; from < devices.count; from = to++) {
    while (to < devices.count && bytesOf(from, to + 1) <= maxBytes) to++;
    const piece = slice(devices, from, to);
    if (piece.count > 1 || piece.keys.length <= maxKeys) yield piece;
    else yield* cutKeys(piece, maxKeys);
  }
}

function* cutKeys(device: Devices, max: number): Generator<Devices> {
  for (let at = 0; at < device.keys.length; at += max) {
    const keys = device.keys.subarray(at, at + max);
    yield { ...device, ends: Uint32Array.of(keys.length), keys };
  }
}

export const documentBytes = ({ d, k }: PageDocument) => d.length + k.length;
