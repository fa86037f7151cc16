/**
 * Reads regions of a slot with the pages that hold their devices: all of them, or those that may hold some wanted ones. A reader beside
 * a writer asks for the manifest again behind each group: what it still names was not removed meanwhile.
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
  /** In their order. */
  pages: StoredPage[];
}

export interface LoadedRegion {
  region: RegionEntry;
  /** The wanted devices in it. */
  wanted: Devices | undefined;
  levels: LoadedLevel[];
}

export interface ReadDeps {
  manifests: Manifests;
  pages: Pages;
  hash: DeviceHash;
}

/** Far enough below the server's 16 MB for one reply that a group is a round trip or two. */
const GROUP_BYTES = 4 << 20;
/** Of a level of so few pages, all are asked for by their ids: together with those of other levels and slots. */
const FEW_PAGES = 16;
/** From this share of a level's pages on, all of them are read, in their order. */
const SCAN_SHARE = 1 / 3;

/** The pages that may hold some of the devices; undefined: most of them. */
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
  /** Undefined: they are read as a range. */
  starts: number[] | undefined;
  /** All of the level, and not only those that may hold some of the devices. */
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

/** Levels that need not be read, by their tokens. */
type Known = { has(token: string): boolean };
const nothingKnown: Known = new Set<string>();

/** Where the wanted devices may be; of the levels from `whole` on, all of it. */
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

/** About what is read of a region. */
const readBytes = (region: RegionEntry, wanted: Devices | undefined): number =>
  region.levels.reduce((sum, { bytes, pageBits }) => {
    const share = wanted ? wanted.count / 2 ** (pageBits - region.bits) : 1;
    return sum + bytes * Math.min(1, share);
  }, 0);

export type Chosen = [region: RegionEntry, wanted: Devices | undefined];

/** Regions with something to read, in groups of a bounded size. */
export function* groupsOf(regions: RegionEntry[], wanted: Devices | undefined): Generator<Chosen[]> {
  const chosen = regions
    .map((region): Chosen => [region, wanted && partOf(wanted, region)])
    .filter(([, part]) => part === undefined || part.count > 0);
  yield* inGroups(
    chosen,
    within<Chosen>({ bytes: GROUP_BYTES }, ([region, part]) => readBytes(region, part)),
  );
}

interface ReadOptions {
  known?: Known | undefined;
  /** Where to begin, if it has just been read. */
  from?: Promise<Manifest> | undefined;
}

/**
 * What a slot of a space holds now, whoever writes to it meanwhile: all of it, or what may hold the wanted devices. The next group is
 * read while the last one is used.
 */
export async function* readSlot(
  deps: ReadDeps,
  target: { space: string; slot: number },
  wanted?: Devices,
  { known, from }: ReadOptions = {},
): AsyncGenerator<LoadedRegion> {
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
    if (isWhole) {
      last = loaded.at(-1)!.region;
      attempt = 0;
    } else await waitAfterLoss(++attempt, manifest._id);
    if (!isWhole || now.version !== manifest.version) {
      manifest = now;
      groups = groupsFrom(manifest, last, wanted);
      loading = startToLoad(deps, manifest, groups, known);
    }
    if (isWhole) yield* loaded;
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

/** Whether everything that was read is still named. */
function isUnchanged(loaded: LoadedRegion[], before: Manifest, now: Manifest): boolean {
  if (before.version === now.version) return true;
  const tokens = new Set(now.regions.flatMap(({ levels }) => levels.map(({ token }) => token)));
  return loaded.every(({ region }) => region.levels.every(({ token }) => tokens.has(token)));
}

/** All devices of levels that were loaded whole. */
export function devicesOf(levels: LoadedLevel[], hash: DeviceHash): Devices {
  const toDevices = ({ reply, devices, devicesEnd, keys, keysEnd }: StoredPage): Devices =>
    decode({ devices: reply.subarray(devices, devicesEnd), keys: reply.subarray(keys, keysEnd) }, hash);
  // Numbered pages may share a device, with other keys.
  const parts = levels.flatMap(({ level, pages }) => {
    const devices = pages.map(toDevices);
    return level.numbered ? devices : [concatenate(devices)];
  });
  return merge(parts);
}
