/**
 * Reads regions of a slot with the documents that hold their devices: all of them, or those that may hold some wanted ones. A reader
 * beside a writer asks for the manifest again behind each group: what it still names was not removed meanwhile.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { PageDocument, RegionEntry } from '../../schemas/stage-documents.ts';
import { inGroups, within } from '../runtime/in-groups.ts';
import { concatenate, type Devices, merge, positionOf, slice } from './devices.ts';
import { ContendedError } from './errors.ts';
import type { Manifest, Manifests } from './manifests.ts';
import { decode } from './page-format.ts';
import type { Pages } from './pages.ts';
import { endOf, pageId, pageOf, pagesOf, runBytes, runId } from './regions.ts';

export interface LoadedRegion {
  region: RegionEntry;
  /** The wanted devices in it. */
  wanted: Devices | undefined;
  pages: PageDocument[];
  runs: PageDocument[];
  /** A document that the manifest names was not there. */
  raced: boolean;
}

export interface ReadDeps {
  manifests: Manifests;
  pages: Pages;
}

/** Far enough below the server's 16 MB for one reply that a group is a round trip or two. */
const GROUP_BYTES = 4 << 20;
/** From this share of a region's pages on, all of them are read, in their order. */
const SCAN_SHARE = 1 / 3;
const ATTEMPTS = 30;
const MAX_WAIT_MS = 200;

/** The pages that may hold some of the devices; undefined: most of them. */
function pagesFor(region: RegionEntry, wanted: Devices): number[] | undefined {
  const most = 2 ** (region.pageBits - region.bits) * SCAN_SHARE;
  const pages: number[] = [];
  for (let n = 0; n < wanted.count; n++) {
    const page = pageOf(region, wanted.addresses[n]!);
    if (page !== pages.at(-1)) pages.push(page);
    if (pages.length > most) return undefined;
  }
  return pages;
}

export function partOf(devices: Devices, region: RegionEntry): Devices {
  const from = positionOf(devices, region.start);
  return slice(devices, from, positionOf(devices, endOf(region), from));
}

export async function loadRegion(
  { pages }: ReadDeps,
  manifest: Manifest,
  region: RegionEntry,
  wanted?: Devices,
): Promise<LoadedRegion> {
  const chosen = wanted && region.pages !== null ? pagesFor(region, wanted) : undefined;
  const runIds = region.runs.map((run) => runId(manifest._id, run));
  const ids = (chosen ?? []).map((page) => pageId(manifest._id, region.pages!, page));
  const [named, all] = await Promise.all([
    ids.length + runIds.length > 0 ? pages.read([...ids, ...runIds]) : new Map<string, PageDocument>(),
    region.pages !== null && !chosen ? pages.readRange(pagesOf(manifest._id, region)) : [],
  ]);
  const found = (some: string[]) => some.flatMap((id) => named.get(id) ?? []);
  const runs = found(runIds);
  const isWhole = chosen || all.reduce((sum, { d }) => sum + d.length / 16, 0) === region.devices;
  const raced = !isWhole || runs.length < runIds.length;
  return { region, wanted, pages: chosen ? found(ids) : all, runs, raced };
}

/** About what is read of a region. */
function readBytes(region: RegionEntry, wanted: Devices | undefined): number {
  const share = wanted ? wanted.count / 2 ** (region.pageBits - region.bits) : 1;
  return runBytes(region) + region.bytes * Math.min(1, share);
}

/** Regions with something to read, in groups of a bounded size. */
export function* groupsOf(
  regions: RegionEntry[],
  wanted: Devices | undefined,
): Generator<[RegionEntry, Devices | undefined][]> {
  const chosen = regions
    .map((region): [RegionEntry, Devices | undefined] => [region, wanted && partOf(wanted, region)])
    .filter(([, part]) => part === undefined || part.count > 0);
  yield* inGroups(
    chosen,
    within({ bytes: GROUP_BYTES }, ([region, part]) => readBytes(region, part)),
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
    const rest = manifest.regions.filter((region) => endOf(region) > position);
    const [group] = groupsOf(rest, wanted);
    if (!group) return;
    const loaded = await Promise.all(group.map(([region, part]) => loadRegion(deps, manifest, region, part)));
    const before = manifest;
    manifest = await deps.manifests.read(target);
    if (isUnchanged(loaded, before, manifest) && loaded.every(({ raced }) => !raced)) {
      yield* loaded;
      position = endOf(loaded.at(-1)!.region);
      attempt = 0;
      continue;
    }
    if (++attempt === ATTEMPTS) throw new ContendedError(manifest._id);
    await sleep(Math.random() * Math.min(2 ** attempt, MAX_WAIT_MS));
  }
}

/** Whether everything that was read is still named. */
function isUnchanged(loaded: LoadedRegion[], before: Manifest, now: Manifest): boolean {
  if (before.version === now.version) return true;
  const byStart = new Map(now.regions.map((region) => [region.start, region]));
  return loaded.every(({ region }) => {
    const current = byStart.get(region.start);
    const runs = new Set(current?.runs.map((run) => runId('', run)));
    return (
      current?.bits === region.bits &&
      current.pages === region.pages &&
      region.runs.every((run) => runs.has(runId('', run)))
    );
  });
}

/** All devices of a region that was loaded whole. */
export const devicesOf = ({ pages, runs }: LoadedRegion): Devices =>
  merge([concatenate(pages.map(toDevices)), ...runs.map(toDevices)]);

const toDevices = ({ d, k }: PageDocument): Devices => decode({ devices: d, keys: k });
