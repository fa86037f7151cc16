/**
 * Removes keys from all devices of a slot, and devices without any key left. It takes an edit per full region or so: other edits of the slot
 * wait for one of them, however large the slot is. When this resolves, the old pages are removed, even if an earlier process replaced them
 * and died before removing them.
 */
import { WORDS } from '../formats/identifier.ts';
import { nextTurn } from '../runtime/loop-turn.ts';
import { createKeyCounts } from './count-keys.ts';
import type { Devices } from './devices.ts';
import { type EditDeps, type Edited, editSlot, type SlotEdit, type SlotTarget } from './edit-slot.ts';
import { put } from './merge-devices.ts';
import { devicesOf, groupsOf, loadRegion } from './read-regions.ts';
import { isBehind } from './regions.ts';

export async function removeKeys(
  deps: EditDeps,
  target: SlotTarget,
  keys: ReadonlySet<number>,
): Promise<Edited> {
  const isRemoved = flagsOf(keys);
  for (;;) {
    const edited = await editSlot(deps, target, (edit) => removeFromNext(deps, edit, isRemoved));
    if (edited.isPaused) continue;
    await deps.removals.finish(await deps.manifests.read(target));
    return edited;
  }
}

async function removeFromNext(deps: EditDeps, edit: SlotEdit, isRemoved: IsRemoved): Promise<void> {
  const { done, change } = edit;
  const counts = createKeyCounts();
  const regions = edit.regions().filter((region) => !done || isBehind(region, done));
  const [group = [], more] = groupsOf(regions, undefined, deps.layout.regionBytes);
  const loaded = await Promise.all(group.map(([region]) => loadRegion(deps, edit.manifest, region)));
  for (const each of loaded) {
    await edit.renew();
    // Each of these steps takes up to tens of milliseconds.
    await nextTurn();
    const before = devicesOf(each.levels, deps.hash);
    await nextTurn();
    const { kept, changed } = without(before, isRemoved, counts);
    if (changed === 0) continue;
    await nextTurn();
    change.devices += changed;
    edit.remove(before.count - kept.count);
    await put(edit, each.region, edit.layOut.asRegions(kept, each.region));
  }
  counts.addTo(change.pairs);
  if (more) edit.pauseAfter(loaded.at(-1)!.region);
}

type IsRemoved = (key: number) => boolean;

/** Keys are numbered from 1 on, so a table of them is small. */
const MAX_FLAGS = 2 ** 24;

/** A table: look-ups in a set would take most of the time of a deletion. */
function flagsOf(keys: ReadonlySet<number>): IsRemoved {
  let size = 1;
  for (const key of keys) size = Math.max(size, key + 1);
  if (size > MAX_FLAGS) return (key) => keys.has(key);
  const flags = new Uint8Array(size);
  for (const key of keys) flags[key] = 1;
  return (key) => key < size && flags[key] === 1;
}

/** With the arrays in locals: every key of every stored device passes here. */
function without(
  { count, words, addresses, ends, keys }: Devices,
  isRemoved: IsRemoved,
  counts: ReturnType<typeof createKeyCounts>,
): { kept: Devices; changed: number } {
  const kept = {
    words: new Uint32Array(words.length),
    addresses: new Uint32Array(count),
    ends: new Uint32Array(count),
    keys: new Uint32Array(keys.length),
  };
  let devices = 0;
  let end = 0;
  let changed = 0;
  for (let n = 0, at = 0; n < count; n++) {
    const first = end;
    const endOfDevice = ends[n]!;
    const size = endOfDevice - at;
    for (; at < endOfDevice; at++) {
      const key = keys[at]!;
      if (isRemoved(key)) counts.add(key);
      else kept.keys[end++] = key;
    }
    if (end - first < size) changed++;
    if (end === first) continue;
    for (let word = 0; word < WORDS; word++) kept.words[devices * WORDS + word] = words[n * WORDS + word]!;
    kept.addresses[devices] = addresses[n]!;
    kept.ends[devices++] = end;
  }
  return {
    kept: {
      count: devices,
      words: kept.words.subarray(0, devices * WORDS),
      addresses: kept.addresses.subarray(0, devices),
      ends: kept.ends.subarray(0, devices),
      keys: kept.keys.subarray(0, end),
    },
    changed,
  };
}
