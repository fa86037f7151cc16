/** Adds devices with their keys to a slot of a space. The cost depends on the size of the change. */
import type { PageDocument, RegionEntry } from '../../schemas/stage-documents.ts';
import { countKeys } from './count-keys.ts';
import { countStored, type Found } from './count-stored.ts';
import { concatenate, type Devices, merge, sizeOf } from './devices.ts';
import { type EditDeps, type Edited, editSlot, type SlotEdit, type SlotTarget } from './edit-slot.ts';
import { findFresh } from './find-fresh.ts';
import { type Chosen, devicesOf, groupsOf, type LoadedRegion, loadRegion } from './read-regions.ts';
import { levelsToKeep, withChance } from './regions.ts';

export interface Merge extends SlotTarget {
  /** The space in which new devices count as matches. */
  matchIn?: string | undefined;
  /** What a look-ahead found there. */
  found?: Promise<Found | undefined> | undefined;
}

/** `parts` can be called repeatedly and yields the devices in parts, in address order. */
export function mergeDevices(
  deps: EditDeps,
  target: Merge,
  parts: () => AsyncIterable<Devices>,
): Promise<Edited> {
  const matchIn = target.matchIn === undefined ? undefined : { space: target.matchIn, slot: target.slot };
  // Read together with the manifest to change: only jobs before and after this one change it.
  const from = matchIn && deps.manifests.read(matchIn);
  from?.catch(() => {});
  return editSlot(deps, target, async (edit) => {
    for await (const devices of parts()) {
      // The next part may read what this one wrote.
      await edit.flush();
      for (const group of groupsOf(edit.regions(), devices)) {
        const loaded = await Promise.all(group.map((chosen) => loadFor(deps, edit, chosen)));
        const added: Devices[] = [];
        for (const each of loaded) {
          await edit.renew();
          added.push(await addTo(deps, edit, each));
        }
        const all = concatenate(added);
        edit.add(all);
        if (matchIn && all.count > 0)
          edit.change.matched += await countStored(deps, matchIn, all, { found: await target.found, from });
      }
    }
  });
}

interface Loaded extends LoadedRegion {
  /** Number of levels that stay unchanged if all devices are new; the others are loaded whole. */
  keep: number;
  ratio: number;
}

async function loadFor(deps: EditDeps, { manifest }: SlotEdit, [region, wanted]: Chosen): Promise<Loaded> {
  const ratio = withChance(deps.layout.levelRatio);
  const keep = levelsToKeep(region, sizeOf(wanted!), ratio);
  return { ...(await loadRegion(deps, manifest, region, wanted, { whole: keep })), keep, ratio };
}

/** Returns the new devices. */
async function addTo(deps: EditDeps, edit: SlotEdit, loaded: Loaded): Promise<Devices> {
  const { region, levels, ratio } = loaded;
  const fresh = findFresh(loaded, deps.hash);
  if (fresh.devices.count === 0) return fresh.added;
  countKeys(fresh.devices.keys, edit.change.pairs);

  // More levels may stay if not all devices are new.
  const keep = Math.max(loaded.keep, levelsToKeep(region, sizeOf(fresh.devices), ratio));
  const rest = merge([devicesOf(levels.slice(keep), deps.hash), fresh.devices]);
  const laidOut = keep > 0 ? edit.layOut.asLevel(rest, region) : undefined;
  if (laidOut) {
    await edit.write(laidOut.pages);
    edit.replace(region, [{ ...region, levels: [...region.levels.slice(0, keep), laidOut.level] }]);
  } else {
    const whole = await loadRegion(deps, edit.manifest, { ...region, levels: region.levels.slice(0, keep) });
    const all = merge([devicesOf(whole.levels, deps.hash), rest]);
    await put(edit, region, edit.layOut.asRegions(all, region));
  }
  return fresh.added;
}

/** Writes the new regions and replaces the old one in the manifest. */
export async function put(
  edit: SlotEdit,
  region: RegionEntry,
  laidOut: Iterable<[RegionEntry, PageDocument[]]>,
): Promise<void> {
  const regions: RegionEntry[] = [];
  for (const [entry, pages] of laidOut) {
    await edit.write(pages);
    regions.push(entry);
  }
  edit.replace(region, regions);
}
