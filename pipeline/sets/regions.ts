/**
 * Where devices lie in a slot of a space. Regions are prefixes of the address that cover all of it, each with its pages and runs. A page
 * is a longer prefix, so its document is computed and not looked up; a page that holds nothing has none. A run holds devices of the
 * whole region: small changes, until they are folded into the pages.
 */
import type { PageDocument, RegionEntry, RunEntry } from '../../schemas/stage-documents.ts';
import { ADDRESS_BITS } from '../formats/identifier.ts';
import { inGroups, within } from '../runtime/in-groups.ts';
import { type Devices, positionOf, sizeOf, slice } from './devices.ts';
import { type Encoded, encode } from './page-format.ts';

export interface Layout {
  /** What a page holds on average, at most. Small, because whoever looks for one device reads its page. */
  pageBytes: number;
  /** A region is split beyond this; it is what is rewritten at once, and held in memory. */
  regionBytes: number;
  /** Runs are folded into the pages when they are larger than this share of them. */
  runShare: number;
  /** So many runs become one. */
  maxRuns: number;
}

export const defaultLayout: Layout = {
  pageBytes: 2_048,
  regionBytes: 4 << 20,
  runShare: 1 / 32,
  maxRuns: 16,
};

/** A page with so many times the devices of others shows that its region is filled unevenly, and must be split. */
const UNEVEN = 8;
const FEW_DEVICES = 64;
/** Far below what a document may hold. */
const RUN_BYTES = 1 << 20;

export const wholeSlot: RegionEntry = {
  start: 0,
  bits: 0,
  pageBits: 0,
  pages: null,
  devices: 0,
  bytes: 0,
  runs: [],
};

export const endOf = ({ start, bits }: RegionEntry): number => start + 2 ** (ADDRESS_BITS - bits);
const hex = (address: number) => address.toString(16).padStart(7, '0');
export const pageId = (manifest: string, token: string, page: number) => `${manifest}:${token}:${hex(page)}`;
export const runId = (manifest: string, { token, number }: RunEntry) => `${manifest}:${token}:r${number}`;

/** Ids from the one up to, and with, the other. */
export interface IdRange {
  from: string;
  to: string;
}

/** The pages of a region. The runs' numbers are behind all addresses. */
export const pagesOf = (manifest: string, region: RegionEntry): IdRange => ({
  from: pageId(manifest, region.pages!, region.start),
  to: pageId(manifest, region.pages!, endOf(region) - 1),
});

/** All documents of a region. */
export function documentsOf(manifest: string, region: RegionEntry): IdRange[] {
  const runs = region.runs.map((run) => runId(manifest, run)).map((id) => ({ from: id, to: id }));
  return region.pages === null ? runs : [pagesOf(manifest, region), ...runs];
}

/** All documents that one merge has written. */
export const writtenWith = (manifest: string, token: string): IdRange => ({
  from: `${manifest}:${token}`,
  to: `${manifest}:${token}~`,
});

/** The start of the page that an address belongs to. */
export const pageOf = ({ pageBits }: RegionEntry, address: number): number => {
  const size = 2 ** (ADDRESS_BITS - pageBits);
  return address - (address % size);
};

export const runBytes = ({ runs }: RegionEntry): number => runs.reduce((sum, { bytes }) => sum + bytes, 0);

/** Whether so much more is to be folded into the pages, and not kept beside them. A region of a single address has no pages. */
export const isFolded = (region: RegionEntry, added: number, { runShare, pageBytes }: Layout): boolean =>
  region.bits < ADDRESS_BITS && runBytes(region) + added > Math.max(pageBytes, region.bytes * runShare);

/** Makes the documents of new pages and runs. A merge may rewrite a region more than once: each time has a token of its own. */
export function createLayOut(manifest: string, merge: string, layout: Layout) {
  let rewrites = 0;
  const nextToken = () => `${merge}.${(rewrites++).toString(36)}`;

  const documentOf = (_id: string, { devices, keys }: Encoded): PageDocument => ({
    _id,
    d: devices,
    k: keys,
  });

  /** As runs of a bounded size. */
  function* asRuns(devices: Devices): Generator<[RunEntry, PageDocument]> {
    const most = Math.max(1, Math.floor((RUN_BYTES * devices.count) / Math.max(1, sizeOf(devices))));
    const token = nextToken();
    for (let from = 0, number = 0; from < devices.count; from += most, number++) {
      const part = slice(devices, from, Math.min(from + most, devices.count));
      const encoded = encode(part);
      const run = { token, number, devices: part.count, bytes: bytesOf(encoded) };
      yield [run, documentOf(runId(manifest, run), encoded)];
    }
  }

  /** As pages; as several regions, if one would be too large or too uneven. */
  function* asRegions(
    devices: Devices,
    start: number,
    bits: number,
  ): Generator<[RegionEntry, PageDocument[]]> {
    const end = start + 2 ** (ADDRESS_BITS - bits);
    if (bits === ADDRESS_BITS) {
      const parts = [...asRuns(devices)];
      const region = { ...wholeSlot, start, bits, pageBits: bits, runs: parts.map(([run]) => run) };
      yield [region, parts.map(([, document]) => document)];
      return;
    }
    const size = sizeOf(devices);
    const pages = size <= layout.regionBytes ? cutIntoPages(devices, { start, bits, size }) : undefined;
    if (pages) {
      yield pages;
      return;
    }
    const middle = (start + end) / 2;
    const cut = positionOf(devices, middle);
    yield* asRegions(slice(devices, 0, cut), start, bits + 1);
    yield* asRegions(slice(devices, cut, devices.count), middle, bits + 1);
  }

  function cutIntoPages(
    devices: Devices,
    { start, bits, size }: { start: number; bits: number; size: number },
  ): [RegionEntry, PageDocument[]] | undefined {
    const wanted = Math.max(0, Math.ceil(Math.log2(size / layout.pageBytes)));
    const pageBits = Math.min(ADDRESS_BITS, bits + wanted);
    const token = nextToken();
    const region = { ...wholeSlot, start, bits, pageBits, pages: devices.count > 0 ? token : null };
    const most = FEW_DEVICES + (UNEVEN * devices.count) / 2 ** (pageBits - bits);
    const documents: PageDocument[] = [];
    let bytes = 0;
    for (let from = 0; from < devices.count; ) {
      const page = pageOf(region, devices.addresses[from]!);
      const to = positionOf(devices, page + 2 ** (ADDRESS_BITS - pageBits), from);
      if (to - from > most) return undefined;
      const encoded = encode(slice(devices, from, to));
      bytes += bytesOf(encoded);
      documents.push(documentOf(pageId(manifest, token, page), encoded));
      from = to;
    }
    return [{ ...region, devices: devices.count, bytes }, documents];
  }

  return { asRuns, asRegions };
}

const bytesOf = ({ devices, keys }: Encoded) => devices.length + keys.length;
export const documentBytes = ({ d, k }: PageDocument) => d.length + k.length;
export const inBatches = (documents: Iterable<PageDocument>, bytes: number) =>
  inGroups(documents, within({ bytes, count: 10_000 }, documentBytes));
