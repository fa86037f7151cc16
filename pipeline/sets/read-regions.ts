/**
 * Reads regions of a slot with the pages that hold their devices: all of them, or those that may hold some wanted ones. A reader beside
 * a writer asks for the manifest again behind each group: what it still names was not removed meanwhile.
 */
import type { LevelEntry, PageDocument, RegionEntry } from '../../schemas/stage-documents.ts';
import { inGroups, within } from '../runtime/in-groups.ts';
import { concatenate, type Devices, merge, positionOf, slice } from './devices.ts';
import type { Manifest, Manifests } from './manifests.ts';
import { decode } from './page-format.ts';
import type { Pages } from './pages.ts';
import { Raced, waitAfterLoss } from './races.ts';
import { endOf, pageId, pageOf, pageSize, pagesOf } from './regions.ts';

export interface LoadedLevel {
  level: LevelEntry;
  /** In their order. */
  pages: PageDocument[];
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
}

/** Far enough below the server's 16 MB for one reply that a group is a round trip or two. */
const GROUP_BYTES = 4 << 20;
/** Of a level of so few pages, all are asked for by their ids: together with those of other levels and slots. */
const FEW_PAGES = 16;
/** From this share of a level's pages on, all of them are read, in their order. */
const SCAN_SHARE = 1 / 3;

/** The pages that may hold some of the devices; undefined: most of them. */
function pagesFor(level: LevelEntry, bits: number, wanted: Devices): number[] | undefined {
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
  const from = positionOf(devices, region.start);
  return slice(devices, from, positionOf(devices, endOf(region), from));
}

async function loadLevel(
  { pages }: ReadDeps,
  { _id }: Manifest,
  region: RegionEntry,
  level: LevelEntry,
  wanted: Devices | undefined,
): Promise<LoadedLevel> {
  const chosen = wanted && pagesFor(level, region.bits, wanted);
  const read = (some: number[]) => pages.read(some.map((page) => pageId(_id, level.token, page)));
  if (chosen) return { level, pages: await read(chosen) };
  const isSmall = 2 ** (level.pageBits - region.bits) <= FEW_PAGES;
  const all = await (isSmall ? read(allPages(level, region)) : pages.readRange(pagesOf(_id, level, region)));
  if (all.reduce((sum, { d }) => sum + d.length / 16, 0) !== level.devices) throw new Raced();
  return { level, pages: all };
}

/** Where the wanted devices may be; of the levels from `whole` on, all of it. */
export async function loadRegion(
  deps: ReadDeps,
  manifest: Manifest,
  region: RegionEntry,
  wanted?: Devices,
  whole = region.levels.length,
): Promise<LoadedRegion> {
  const levels = await Promise.all(
    region.levels.map((level, i) => loadLevel(deps, manifest, region, level, i < whole ? wanted : undefined)),
  );
  return { region, wanted, levels };
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

/** What a slot of a space holds now, whoever writes to it meanwhile: all of it, or what may hold the wanted devices. */
export async function* readSlot(
  deps: ReadDeps,
  target: { space: string; slot: number },
  wanted?: Devices,
): AsyncGenerator<LoadedRegion> {
  let manifest = await deps.manifests.read(target);
  for (let position = 0, attempt = 0; ; ) {
    const rest = manifest.regions.filter((region) => region.levels.length > 0 && endOf(region) > position);
    const [group] = groupsOf(rest, wanted);
    if (!group) return;
    const loaded = await load(deps, manifest, group);
    const before = manifest;
    manifest = await deps.manifests.read(target);
    if (loaded && isUnchanged(loaded, before, manifest)) {
      yield* loaded;
      position = endOf(loaded.at(-1)!.region);
      attempt = 0;
      continue;
    }
    await waitAfterLoss(++attempt, manifest._id);
  }
}

async function load(
  deps: ReadDeps,
  manifest: Manifest,
  group: Chosen[],
): Promise<LoadedRegion[] | undefined> {
  try {
    return await Promise.all(group.map(([region, part]) => loadRegion(deps, manifest, region, part)));
  } catch (error) {
    if (error instanceof Raced) return undefined;
    throw error;
  }
}

/** Whether everything that was read is still named. */
function isUnchanged(loaded: LoadedRegion[], before: Manifest, now: Manifest): boolean {
  if (before.version === now.version) return true;
  const tokens = new Set(now.regions.flatMap(({ levels }) => levels.map(({ token }) => token)));
  return loaded.every(({ region }) => region.levels.every(({ token }) => tokens.has(token)));
}

/** All devices of levels that were loaded whole. */
export const devicesOf = (levels: LoadedLevel[]): Devices =>
  merge(levels.map(({ pages }) => concatenate(pages.map(toDevices))));

const toDevices = ({ d, k }: PageDocument): Devices => decode({ devices: d, keys: k });
