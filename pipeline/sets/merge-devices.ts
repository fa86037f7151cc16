/** Adds devices with their keys to a slot of a space: costs what they change. */
import type { PageDocument, RegionEntry } from '../../schemas/stage-documents.ts';
import { concatenate, type Devices, merge, sizeOf } from './devices.ts';
import {
  type EditDeps,
  type Edited,
  editSlot,
  requireAll,
  type SlotEdit,
  type SlotTarget,
} from './edit-slot.ts';
import { findFresh } from './find-fresh.ts';
import { joinRegion } from './join.ts';
import { decode } from './page-format.ts';
import { devicesOf, groupsOf, type LoadedRegion, loadRegion, readSlot } from './read-regions.ts';
import { isFolded } from './regions.ts';

export interface Merge extends SlotTarget {
  /** The space whose devices count as matches of those that are new. */
  matchIn?: string | undefined;
}

/** `parts` gives the devices, in parts that follow each other by address, as often as it is asked. */
export async function mergeDevices(
  deps: EditDeps,
  target: Merge,
  parts: () => AsyncIterable<Devices>,
): Promise<Edited> {
  return editSlot(deps, target, async (edit) => {
    for await (const devices of parts()) {
      for (const group of groupsOf(edit.regions(), devices)) {
        const added: Devices[] = [];
        const loaded = await Promise.all(group.map(([region, part]) => loadFor(deps, edit, region, part!)));
        requireAll(loaded);
        for (const one of loaded) added.push(await addTo(deps, edit, one));
        const all = concatenate(added);
        edit.change.devices += all.count;
        edit.total += all.count;
        if (target.matchIn !== undefined && all.count > 0)
          edit.change.matched += await countStored(deps, { ...target, space: target.matchIn }, all);
      }
    }
  });
}

/** A region that will be rewritten is read whole, any other where the devices may be. */
async function loadFor(
  deps: EditDeps,
  { manifest }: SlotEdit,
  region: RegionEntry,
  wanted: Devices,
): Promise<LoadedRegion> {
  const isWhole = isFolded(region, sizeOf(wanted), deps.layout);
  return { ...(await loadRegion(deps, manifest, region, isWhole ? undefined : wanted)), wanted };
}

/** Gives the devices that are new. */
async function addTo(deps: EditDeps, edit: SlotEdit, loaded: LoadedRegion): Promise<Devices> {
  const { region, wanted } = loaded;
  const fresh = findFresh(loaded);
  if (fresh.devices.count === 0) return fresh.added;
  const { pairs } = edit.change;
  for (const key of fresh.devices.keys) pairs.set(key, (pairs.get(key) ?? 0) + 1);

  if (isFolded(region, sizeOf(wanted!), deps.layout)) {
    const all = merge([devicesOf(loaded), fresh.devices]);
    await put(edit, region, edit.layOut.asRegions(all, region.start, region.bits));
  } else {
    const isFull = region.runs.length >= deps.layout.maxRuns;
    const runs = isFull ? merge([...loaded.runs.map(toDevices), fresh.devices]) : fresh.devices;
    const written = [...edit.layOut.asRuns(runs)];
    await edit.write(written.map(([, document]) => document));
    const kept = isFull ? [] : region.runs;
    edit.replace(region, [{ ...region, runs: [...kept, ...written.map(([run]) => run)] }]);
  }
  return fresh.added;
}

const toDevices = ({ d, k }: PageDocument) => decode({ devices: d, keys: k });

/** Writes regions, and puts them in the place of the one that they were made from. */
export async function put(
  edit: SlotEdit,
  region: RegionEntry,
  laidOut: Iterable<[RegionEntry, PageDocument[]]>,
): Promise<void> {
  const regions: RegionEntry[] = [];
  for (const [one, documents] of laidOut) {
    await edit.write(documents);
    regions.push(one);
  }
  edit.replace(region, regions);
}

/** How many of the devices a slot of a space holds. */
export async function countStored(
  deps: EditDeps,
  target: { space: string; slot: number },
  wanted: Devices,
): Promise<number> {
  let count = 0;
  for await (const loaded of readSlot(deps, target, wanted)) {
    const stored = new Uint8Array(loaded.wanted!.count);
    joinRegion(loaded, {
      onDevice(n) {
        count += 1 - stored[n]!;
        stored[n] = 1;
      },
    });
  }
  return count;
}
