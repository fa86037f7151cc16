/**
 * Reads regions of a slot with all their pages, or with the pages that may hold wanted devices. A reader concurrent to writers reads the
 * manifest again after each group: levels that it still references were not removed meanwhile.
 */
import type { LevelEntry, RegionEntry } from '../../schemas/stage-documents.ts';
import type { DeviceHash } from '../formats/device-hash.ts';
import { inGroups, within } from '../runtime/in-groups.ts';
import { concatenate, type Devices, merge, slice } from './devices.ts';
import type { Manifest, Manifests } from './manifests.ts';
import { decode } from './page-format.ts';
import type { StoredPage } from './page-reply.ts';
import type { Pages } from './pages.ts';
import { Raced, waitAfterLoss } from './races.ts';
import { isBehind, levelId, pageOf, pageSize, pagesOf, rangeIn } from './regions.ts';

export interface LoadedLevel {
  level: LevelEntry;
  /** In order. */
  pages: StoredPage[];
}

export interface LoadedRegion {
  region: RegionEntry;
  /** The wanted devices of the region. */
  wanted: Devices | undefined;
  levels: LoadedLevel[];
}

/** A region read by `readSlot`. */
export interface ReadRegion extends LoadedRegion {
  /** The version of the manifest before and after; undefined if it has changed meanwhile. */
  version: number | undefined;
}

export interface ReadDeps {
  manifests: Manifests;
  pages: Pages;
  hash: DeviceHash;
}

/** Well below the server's reply limit of 16 MB, so that a group takes one or two round trips. */
const GROUP_BYTES = 4 << 20;
/** All pages of a level this small are read by id, together with those of other levels and slots. */
const FEW_PAGES = 16;
/** If more than this share of a level's pages is wanted, the whole level is scanned. */
const SCAN_SHARE = 1 / 3;

/** The pages that may hold some of the devices; undefined if these are most pages. */
function pagesFor(level: LevelEntry, bits: number, wanted: Devices): number[] | undefined {
  if (level.numbered) return undefined;
  const most = 2 ** (level.pageBits - bits) * SCAN_SHARE;
  const pages: number[] = [];
  for (let n = 0; n < wanted.count; n++) {
    const page = pageOf(level, wanted.addresses[n]!);
    if (page === pages.at(-1)) continue;
    pages.push(page);
    if (pages.length > most) return undefined;
  }
  return pages;
}

function allPages(level: LevelEntry, { start, bits }: RegionEntry): number[] {
  return Array.from({ length: 2 ** (level.pageBits - bits) }, (_, i) => start + i * pageSize(level));
}

export function partOf(devices: Devices, region: RegionEntry): Devices {
  const [from, to] = rangeIn(devices, region);
  return slice(devices, from, to);
}

interface PageChoice {
  /** Undefined: read as a range. */
  starts: number[] | undefined;
  /** All pages of the level, not only those that may hold wanted devices. */
  isWhole: boolean;
}

export function choosePages(level: LevelEntry, region: RegionEntry, wanted: Devices | undefined): PageChoice {
  const chosen = wanted && pagesFor(level, region.bits, wanted);
  if (chosen) return { starts: chosen, isWhole: false };
  const isSmall = !level.numbered && 2 ** (level.pageBits - region.bits) <= FEW_PAGES;
  return { starts: isSmall ? allPages(level, region) : undefined, isWhole: true };
}

async function loadLevel(
  { pages }: ReadDeps,
  { _id }: Manifest,
  region: RegionEntry,
  level: LevelEntry,
  wanted: Devices | undefined,
): Promise<LoadedLevel> {
  const { starts, isWhole } = choosePages(level, region, wanted);
  const found = await (starts
    ? pages.read({ level: levelId(_id, level), starts })
    : pages.readRange(pagesOf(_id, level, region)));
  if (isWhole && found.length !== level.pages) throw new Raced();
  return { level, pages: found };
}

/** Tokens of levels that need not be read. */
type Known = { has(token: string): boolean };
const nothingKnown: Known = new Set<string>();

/** Loads the pages that may hold wanted devices; levels from `whole` on completely. */
export async function loadRegion(
  deps: ReadDeps,
  manifest: Manifest,
  region: RegionEntry,
  wanted?: Devices,
  { whole = region.levels.length, known = nothingKnown }: { whole?: number; known?: Known } = {},
): Promise<LoadedRegion> {
  const levels = region.levels.map((level, i) =>
    known.has(level.token) ? [] : loadLevel(deps, manifest, region, level, i < whole ? wanted : undefined),
  );
  return { region, wanted, levels: (await Promise.all(levels)).flat() };
}

/** Approximate bytes to read of a region. */
const readBytes = (region: RegionEntry, wanted: Devices | undefined): number =>
  region.levels.reduce((sum, { bytes, pageBits }) => {
    const share = wanted ? wanted.count / 2 ** (pageBits - region.bits) : 1;
    return sum + bytes * Math.min(1, share);
  }, 0);

export type Chosen = [region: RegionEntry, wanted: Devices | undefined];

/** Groups of bounded size of the regions to read. */
export function* groupsOf(
  regions: RegionEntry[],
  wanted: Devices | undefined,
  bytes = GROUP_BYTES,
): Generator<Chosen[]> {
  const chosen = regions
    .map((region): Chosen => [region, wanted && partOf(wanted, region)])
    .filter(([, part]) => part === undefined || part.count > 0);
  yield* inGroups(
    chosen,
    within<Chosen>({ bytes }, ([region, part]) => readBytes(region, part)),
  );
}

interface ReadOptions {
  known?: Known | undefined;
  /** The manifest, if it has just been read. */
  from?: Promise<Manifest> | undefined;
}

/**
 * A consistent read of a slot despite concurrent writers: all of it, or the pages that may hold wanted devices. Prefetches the next group
 * while the last one is used.
 */
export async function* readSlot(
  deps: ReadDeps,
  target: { space: string; slot: number },
  wanted?: Devices,
  { known, from }: ReadOptions = {},
): AsyncGenerator<ReadRegion> {
  let manifest = await (from ?? deps.manifests.read(target));
  let groups = groupsFrom(manifest, undefined, wanted);
  let loading = startToLoad(deps, manifest, groups, known);
  for (let last: RegionEntry | undefined, attempt = 0; ; ) {
    const loaded = await loading;
    if (loaded === 'end') return;
    loading = startToLoad(deps, manifest, groups, known);
    const isRead = loaded === 'raced' || loaded.some(({ levels }) => levels.length > 0);
    const now = isRead ? await deps.manifests.read(target) : manifest;
    const isWhole = loaded !== 'raced' && isUnchanged(loaded, manifest, now);
    const version = now.version === manifest.version ? now.version : undefined;
    if (isWhole) {
      last = loaded.at(-1)!.region;
      attempt = 0;
    } else await waitAfterLoss(++attempt, manifest._id);
    if (!isWhole || version === undefined) {
      manifest = now;
      groups = groupsFrom(manifest, last, wanted);
      loading = startToLoad(deps, manifest, groups, known);
    }
    if (isWhole) for (const region of loaded) yield { ...region, version };
  }
}

function groupsFrom(
  { regions }: Manifest,
  last: RegionEntry | undefined,
  wanted: Devices | undefined,
): Iterator<Chosen[]> {
  const rest = regions.filter((region) => region.levels.length > 0 && (!last || isBehind(region, last)));
  return groupsOf(rest, wanted);
}

/** Prefetches the next group. Its failure is reported only if the group is awaited. */
function startToLoad(
  deps: ReadDeps,
  manifest: Manifest,
  groups: Iterator<Chosen[]>,
  known: Known | undefined,
): Promise<LoadedRegion[] | 'raced' | 'end'> {
  const { value: group, done } = groups.next();
  if (done) return Promise.resolve('end');
  const loading = Promise.all(
    group.map(([region, part]: Chosen) => loadRegion(deps, manifest, region, part, { known })),
  );
  const settled = loading.catch((error) => {
    if (error instanceof Raced) return 'raced' as const;
    throw error;
  });
  settled.catch(() => {});
  return settled;
}

/** Whether the manifest still references everything that was read. */
function isUnchanged(loaded: LoadedRegion[], before: Manifest, now: Manifest): boolean {
  if (before.version === now.version) return true;
  const tokens = new Set(now.regions.flatMap(({ levels }) => levels.map(({ token }) => token)));
  return loaded.every(({ region }) => region.levels.every(({ token }) => tokens.has(token)));
}

/** All devices of completely loaded levels. */
export function devicesOf(levels: LoadedLevel[], hash: DeviceHash): Devices {
  const toDevices = ({ reply, devices, devicesEnd, keys, keysEnd }: StoredPage): Devices =>
    decode({ devices: reply.subarray(devices, devicesEnd), keys: reply.subarray(keys, keysEnd) }, hash);
  // Numbered pages may share a device, with different keys.
  const parts = levels.flatMap(({ level, pages }) => {
    const devices = pages.map(toDevices);
    return level.numbered ? devices : [concatenate(devices)];
  });
  return merge(parts);
}
