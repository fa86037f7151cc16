/**
 * Completes an erasure (erase-devices.ts): removes its devices from the pages, then its entry from the manifest. Every edit of the slot
 * first completes a pending erasure, because a merge would take devices still in a page for stored.
 */
import type { ManifestDocument } from '../../schemas/stage-documents.ts';
import { IDENTIFIER_BYTES } from '../formats/identifier.ts';
import { concatenate } from './devices.ts';
import { joinRegion } from './join.ts';
import type { Manifest } from './manifests.ts';
import { createKeyReader, encodeKeys } from './page-format.ts';
import type { StoredPage } from './page-reply.ts';
import type { PageChange } from './pages.ts';
import { Raced, waitAfterLoss } from './races.ts';
import { devicesOf, groupsOf, type LoadedRegion, loadRegion, type ReadDeps } from './read-regions.ts';
import { pagesOf } from './regions.ts';

export type Erasing = NonNullable<ManifestDocument['erasing']>;

/** New contents of the pages, prepared while counting the devices. */
export interface Prepared {
  /** Version of the manifest with the pending erasure. */
  version: number;
  changes: PageChange[];
}

/** When this resolves, no page holds the devices. */
export async function completeErasure(
  deps: ReadDeps,
  target: { space: string; slot: number },
  prepared?: Prepared,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const { erasing, ...manifest } = await deps.manifests.read(target);
    if (!erasing) return;
    const isPrepared = attempt === 1 && prepared?.version === manifest.version;
    const isDone = isPrepared
      ? await deps.pages.change(prepared.changes)
      : await takeOut(deps, manifest, erasing).catch(otherwise(false));
    if (isDone) {
      await deps.pages.remove(
        erasing.regions.flatMap((region) =>
          region.levels.map((level) => pagesOf(manifest._id, level, region)),
        ),
      );
      // Fences edits that read the pages before, which would bring the devices back.
      if ((await deps.manifests.replace(manifest)) === 'landed') return;
    }
    await waitAfterLoss(attempt, manifest._id);
  }
}

const otherwise =
  <T>(value: T) =>
  (error: unknown): T => {
    if (error instanceof Raced) return value;
    throw error;
  };

async function takeOut(deps: ReadDeps, manifest: Manifest, { regions, keys }: Erasing): Promise<boolean> {
  const naming = Promise.all(regions.map((region) => loadRegion(deps, manifest, region)));
  const named = await naming.catch(otherwise(undefined));
  // Another process has completed the erasure and removed the pages that list the devices.
  if (!named) return true;
  const wanted = concatenate(named.map(({ levels }) => devicesOf(levels, deps.hash)));
  const only = keys && new Set(keys);
  for (const group of groupsOf(manifest.regions, wanted)) {
    const loaded = await Promise.all(group.map(([region, part]) => loadRegion(deps, manifest, region, part)));
    const changes = loaded.flatMap((region) => changesIn(deps, region, only));
    if (!(await deps.pages.change(changes))) return false;
  }
  return true;
}

/** New contents of the pages with wanted devices: without the devices; or without these keys, and without devices that have no other. */
export function changesIn(
  { hash }: ReadDeps,
  loaded: LoadedRegion,
  keys: ReadonlySet<number> | undefined,
): PageChange[] {
  const places = new Map<StoredPage, number[]>();
  const onDevice = (_: number, page: StoredPage, place: number) => {
    const known = places.get(page);
    if (known) known.push(place);
    else places.set(page, [place]);
  };
  joinRegion(loaded, { onDevice }, hash);
  return [...places].flatMap(([page, removed]) => without(page, removed, keys));
}

/** Removes the devices at these ascending places. The rest is copied without decoding. */
function without(page: StoredPage, places: number[], keys: ReadonlySet<number> | undefined): PageChange[] {
  const devices = createCutter(page.reply.subarray(page.devices, page.devicesEnd));
  const keyBytes = page.reply.subarray(page.keys, page.keysEnd);
  const lists = createCutter(keyBytes);
  const reader = createKeyReader(keyBytes);
  let passed = 0;
  let isChanged = false;
  for (const place of places) {
    reader.skip(place - passed);
    passed = place + 1;
    const from = reader.position();
    const kept: number[] = [];
    let isHit = !keys;
    reader.next((key) => {
      if (keys && !keys.has(key)) kept.push(key);
      else isHit = true;
    });
    if (!isHit) continue;
    isChanged = true;
    lists.cut(from, reader.position(), kept.length > 0 ? encodeKeys(kept) : undefined);
    if (kept.length === 0) devices.cut(place * IDENTIFIER_BYTES, passed * IDENTIFIER_BYTES);
  }
  return isChanged ? [{ page, d: devices.rest(), k: lists.rest() }] : [];
}

function createCutter(bytes: Uint8Array) {
  const pieces: Uint8Array[] = [];
  let end = 0;
  return {
    cut(from: number, to: number, instead?: Uint8Array): void {
      pieces.push(bytes.subarray(end, from), ...(instead ? [instead] : []));
      end = to;
    },
    rest: (): Uint8Array => Buffer.concat([...pieces, bytes.subarray(end)]),
  };
}
