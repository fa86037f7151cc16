/**
 * Removes keys from all devices of a slot, and devices without any key left, in one pass. When this resolves, the old pages are removed,
 * even if an earlier process replaced them and died before removing them.
 */
import { createWriter, type Devices, firstKey } from './devices.ts';
import { type EditDeps, type Edited, editSlot, type SlotTarget } from './edit-slot.ts';
import { put } from './merge-devices.ts';
import { devicesOf, groupsOf, loadRegion } from './read-regions.ts';

export async function removeKeys(
  deps: EditDeps,
  target: SlotTarget,
  keys: ReadonlySet<number>,
): Promise<Edited> {
  const edited = await editSlot(deps, target, async (edit) => {
    for (const group of groupsOf(edit.regions(), undefined)) {
      const loaded = await Promise.all(group.map(([region]) => loadRegion(deps, edit.manifest, region)));
      for (const each of loaded) {
        await edit.renew();
        const before = devicesOf(each.levels, deps.hash);
        const { kept, changed } = without(before, keys, edit.change.pairs);
        if (changed === 0) continue;
        edit.change.devices += changed;
        edit.total -= before.count - kept.count;
        await put(edit, each.region, edit.layOut.asRegions(kept, each.region));
      }
    }
  });
  await deps.removals.finish(await deps.manifests.read(target));
  return edited;
}

function without(
  devices: Devices,
  keys: ReadonlySet<number>,
  removed: Map<number, number>,
): { kept: Devices; changed: number } {
  const writer = createWriter(devices.count, devices.keys.length);
  let changed = 0;
  for (let n = 0; n < devices.count; n++) {
    let isChanged = false;
    let isBegun = false;
    for (let at = firstKey(devices, n); at < devices.ends[n]!; at++) {
      const key = devices.keys[at]!;
      if (keys.has(key)) {
        isChanged = true;
        removed.set(key, (removed.get(key) ?? 0) + 1);
        continue;
      }
      if (!isBegun) writer.begin(devices, n);
      isBegun = true;
      writer.key(key);
    }
    if (isChanged) changed++;
  }
  return { kept: writer.finish(), changed };
}
