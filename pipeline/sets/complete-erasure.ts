/**
 * Takes the devices out of the pages that an erasure has counted (erase-devices.ts), and then out of the manifest, which names them until
 * then. Whoever wants to change the slot does this first: what a page still holds of them must not be taken for stored.
 */
import type { ManifestDocument } from '../../schemas/stage-documents.ts';
import { compare, concatenate, createWriter, type Devices, firstKey, positionOf } from './devices.ts';
import type { Manifest } from './manifests.ts';
import { decode, encode } from './page-format.ts';
import type { StoredPage } from './page-reply.ts';
import type { PageChange } from './pages.ts';
import { Raced, waitAfterLoss } from './races.ts';
import { devicesOf, groupsOf, type LoadedRegion, loadRegion, type ReadDeps } from './read-regions.ts';
import { pagesOf } from './regions.ts';
import type { Removals } from './removals.ts';

export type Erasing = NonNullable<ManifestDocument['erasing']>;

interface CompleteDeps extends ReadDeps {
  removals: Removals;
}

/** The pages without the devices, made from those that were read to count them. */
export interface Prepared {
  /** Of the manifest that names the devices. */
  version: number;
  changes: PageChange[];
}

/** The devices are in no page when this resolves. */
export async function completeErasure(
  deps: CompleteDeps,
  target: { space: string; slot: number },
  prepared?: Prepared,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const { erasing, ...manifest } = await deps.manifests.read(target);
    // Completed by another, who may have died before the pages that named the devices were removed.
    if (!erasing) return deps.removals.finish(manifest);
    const isPrepared = attempt === 1 && prepared?.version === manifest.version;
    const isDone = isPrepared
      ? await deps.pages.change(prepared.changes)
      : await takeOut(deps, manifest, erasing).catch(unlessRaced);
    if (isDone) {
      await deps.removals.finish(manifest);
      const replaced = erasing.regions.flatMap((region) =>
        region.levels.map((level) => pagesOf(manifest._id, level, region)),
      );
      const next = { ...manifest, replaced };
      // Edits that read the pages before would bring the devices back: they lose.
      if ((await deps.manifests.replace(next)) === 'landed') return deps.removals.finish(next);
    }
    await waitAfterLoss(attempt, manifest._id);
  }
}

function unlessRaced(error: unknown): false {
  if (error instanceof Raced) return false;
  throw error;
}

async function takeOut(deps: CompleteDeps, manifest: Manifest, { regions, keys }: Erasing): Promise<boolean> {
  const named = await Promise.all(regions.map((region) => loadRegion(deps, manifest, region)));
  const wanted = concatenate(named.map(({ levels }) => devicesOf(levels, deps.hash)));
  const only = keys && new Set(keys);
  for (const group of groupsOf(manifest.regions, wanted)) {
    const loaded = await Promise.all(group.map(([region, part]) => loadRegion(deps, manifest, region, part)));
    const changes = loaded.flatMap((one) => [...changesIn(deps, one, only)]);
    if (!(await deps.pages.change(changes))) return false;
  }
  return true;
}

/** The pages that hold wanted devices, without them; or without some keys of theirs. */
export function* changesIn(
  deps: ReadDeps,
  { wanted, levels }: LoadedRegion,
  keys: ReadonlySet<number> | undefined,
): Generator<PageChange> {
  for (const { pages } of levels) for (const page of pages) yield* without(deps, page, wanted!, keys);
}

function* without(
  { hash }: ReadDeps,
  page: StoredPage,
  wanted: Devices,
  keys: ReadonlySet<number> | undefined,
): Generator<PageChange> {
  const { reply } = page;
  const encoded = {
    devices: reply.subarray(page.devices, page.devicesEnd),
    keys: reply.subarray(page.keys, page.keysEnd),
  };
  const before = decode(encoded, hash);
  const writer = createWriter(before.count, before.keys.length);
  let isChanged = false;
  for (let n = 0, at = positionOf(wanted, before.addresses[0] ?? 0); n < before.count; n++) {
    while (at < wanted.count && compare(wanted, at, before, n) < 0) at++;
    const isWanted = at < wanted.count && compare(wanted, at, before, n) === 0;
    isChanged ||= isWanted && !keys;
    if (isWanted && !keys) continue;
    let isBegun = false;
    for (let key = firstKey(before, n); key < before.ends[n]!; key++) {
      if (isWanted && keys!.has(before.keys[key]!)) {
        isChanged = true;
        continue;
      }
      if (!isBegun) writer.begin(before, n);
      isBegun = true;
      writer.key(before.keys[key]!);
    }
    if (!isWanted && !isBegun) writer.begin(before, n);
  }
  if (!isChanged) return;
  const { devices: d, keys: k } = encode(writer.finish());
  yield { page, d, k };
}
