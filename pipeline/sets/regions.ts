/**
 * Where devices lie in a slot of a space. Regions are prefixes of the address that cover all of it. A region has levels, the largest
 * first: what a change brings is written as a small level behind the others, and levels are merged before they are many. A level has
 * pages by longer prefixes, so the page that may hold a device is computed and not looked up; one that holds nothing does not exist.
 */
import type { LevelEntry, PageDocument, RegionEntry } from '../../schemas/stage-documents.ts';
import { ADDRESS_BITS } from '../formats/identifier.ts';
import { type Devices, positionOf, sizeOf, slice } from './devices.ts';
import { encode } from './page-format.ts';

export interface Layout {
  /** What a page holds at most, on average. Small, because whoever looks for one device reads its page. */
  pageBytes: number;
  /** A region is split beyond this; it is what is rewritten at once, and held in memory. */
  regionBytes: number;
  /** A level is at least so many times as large as all behind it. */
  levelRatio: number;
}

export const defaultLayout: Layout = { pageBytes: 4_096, regionBytes: 4 << 20, levelRatio: 8 };

/** A page with so many times the devices of others shows that its region is filled unevenly, and must be split. */
const UNEVEN = 8;
const FEW_DEVICES = 64;
/** Far below what a document may hold: pages of a single address, which cannot be split. */
const MAX_PAGE_BYTES = 1 << 20;

export const wholeSlot: RegionEntry = { start: 0, bits: 0, levels: [] };

export const endOf = ({ start, bits }: RegionEntry): number => start + 2 ** (ADDRESS_BITS - bits);
/** What the ids of a level's pages begin with; behind it comes the first address of each. */
export const levelId = (manifest: string, { token }: LevelEntry) => `${manifest}:${token}:`;
export const ADDRESS_DIGITS = ADDRESS_BITS / 4;
export const pageId = (level: string, start: number) =>
  level + start.toString(16).padStart(ADDRESS_DIGITS, '0');
export const pageSize = ({ pageBits }: LevelEntry): number => 2 ** (ADDRESS_BITS - pageBits);
/** The start of the page that an address belongs to. */
export const pageOf = (level: LevelEntry, address: number): number => address - (address % pageSize(level));

/** Ids from the one up to, and with, the other. */
export interface IdRange {
  from: string;
  to: string;
}

/** All pages of a level. */
export const pagesOf = (manifest: string, level: LevelEntry, region: RegionEntry): IdRange => ({
  from: pageId(levelId(manifest, level), region.start),
  to: pageId(levelId(manifest, level), endOf(region) - 1),
});

/** All documents that one merge has written. */
export const writtenWith = (manifest: string, token: string): IdRange => ({
  from: `${manifest}:${token}`,
  to: `${manifest}:${token}~`,
});

/**
 * How many levels stay as they are when so much more comes; the others are merged with it. Regions grow alike, so each is merged a
 * little earlier or later than the others, by chance: never all of a slot at once.
 */
export function levelsToKeep({ levels, bits }: RegionEntry, added: number, ratio: number): number {
  const total = levels.reduce((sum, { bytes }) => sum + bytes, added);
  if (bits === ADDRESS_BITS && total > MAX_PAGE_BYTES) return levels.length;
  let behind = added;
  let keep = levels.length;
  for (let i = levels.length - 1; i >= 0; i--) {
    if (levels[i]!.bytes < behind * ratio) keep = i;
    behind += levels[i]!.bytes;
  }
  return keep;
}

export const withChance = (ratio: number) => ratio * (0.75 + Math.random() / 2);

/** Makes the pages of new levels. A merge may rewrite a region more than once: each level has a token of its own. */
export function createLayOut(manifest: string, merge: string, layout: Layout) {
  let levels = 0;

  /** Undefined: it would be too uneven. */
  function asLevel(
    devices: Devices,
    { bits }: RegionEntry,
  ): { level: LevelEntry; pages: PageDocument[] } | undefined {
    const wanted = Math.ceil(Math.log2(sizeOf(devices) / layout.pageBytes));
    const pageBits = Math.min(ADDRESS_BITS, bits + Math.max(0, wanted));
    const most =
      bits < ADDRESS_BITS ? FEW_DEVICES + (UNEVEN * devices.count) / 2 ** (pageBits - bits) : devices.count;
    const level = {
      token: `${merge}.${(levels++).toString(36)}`,
      pageBits,
      devices: devices.count,
      bytes: 0,
    };
    const id = levelId(manifest, level);
    const pages: PageDocument[] = [];
    for (let from = 0; from < devices.count; ) {
      const page = pageOf(level, devices.addresses[from]!);
      const to = positionOf(devices, page + pageSize(level), from);
      if (to - from > most) return undefined;
      const { devices: d, keys: k } = encode(devices, from, to);
      level.bytes += d.length + k.length;
      pages.push({ _id: pageId(id, page), d, k });
      from = to;
    }
    return { level, pages };
  }

  /** As one region, or as several if it would be too large or too uneven. */
  function* asRegions(devices: Devices, region: RegionEntry): Generator<[RegionEntry, PageDocument[]]> {
    const { start, bits } = region;
    if (devices.count === 0) {
      yield [{ start, bits, levels: [] }, []];
      return;
    }
    if (bits === ADDRESS_BITS || sizeOf(devices) <= layout.regionBytes) {
      const laidOut = asLevel(devices, region);
      if (laidOut) {
        yield [{ start, bits, levels: [laidOut.level] }, laidOut.pages];
        return;
      }
    }
    const middle = (start + endOf(region)) / 2;
    const cut = positionOf(devices, middle);
    yield* asRegions(slice(devices, 0, cut), { start, bits: bits + 1, levels: [] });
    yield* asRegions(slice(devices, cut, devices.count), { start: middle, bits: bits + 1, levels: [] });
  }

  return { asLevel, asRegions };
}

export const documentBytes = ({ d, k }: PageDocument) => d.length + k.length;
