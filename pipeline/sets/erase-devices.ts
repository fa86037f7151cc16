/**
 * Removes devices, or some of their keys, from a slot of a space. The cost depends on the pages that hold them.
 *
 * First the manifest records the erasure, with the devices listed in separate pages: like every edit, that happens once. Then the devices
 * are removed from the pages that hold them (complete-erasure.ts). If the process dies in between, the next edit of the slot does that.
 */
import { changesIn, completeErasure, type Prepared } from './complete-erasure.ts';
import { countStored } from './count-stored.ts';
import { concatenate, createWriter, type Devices } from './devices.ts';
import { type EditDeps, type Edited, editSlot, type SlotEdit, type SlotTarget } from './edit-slot.ts';
import { joinRegion } from './join.ts';
import type { LookedPages } from './looked-pages.ts';
import { manifestId } from './manifests.ts';
import { waitAfterLoss } from './races.ts';
import { groupsOf, type LoadedRegion, loadRegion } from './read-regions.ts';
import { wholeSlot } from './regions.ts';

export interface Erasure extends SlotTarget {
  /** Removes only these keys, and devices that have no other. Absent: removes the devices. */
  keys?: ReadonlySet<number> | undefined;
  /** The space in which removed devices count as matches. */
  matchIn?: string | undefined;
  /** Pages that a look-up for the same devices has read. */
  looked?: LookedPages | undefined;
}

/** Page contents kept between counting and changing. Further pages are read again. */
const PREPARED_BYTES = 8 << 20;

/** Once per job. When this resolves, no page holds the devices. */
export async function eraseDevices(deps: EditDeps, target: Erasure, wanted: Devices): Promise<Edited> {
  let prepared: Prepared | undefined;
  const edited = await editSlot(deps, target, async (edit) => {
    prepared = await count(deps, edit, target, wanted);
  });
  await finishErasure(deps, target, prepared);
  return edited;
}

/** What is counted as removed is in no page when this resolves. */
export const finishErasure = (
  deps: EditDeps,
  target: Pick<SlotTarget, 'space' | 'slot'>,
  prepared?: Prepared,
): Promise<void> =>
  deps.oneAtATime(manifestId(target.space, target.slot), () => completeErasure(deps, target, prepared));

async function count(deps: EditDeps, edit: SlotEdit, target: Erasure, wanted: Devices) {
  const { keys, matchIn, slot, looked } = target;
  const { change, manifest } = edit;
  const named: Devices[] = [];
  const preparing = prepare(deps, keys);
  for (const group of groupsOf(manifest.regions, wanted)) {
    await edit.renew();
    const loaded = await Promise.all(
      group.map(
        ([region, part]) => looked?.take(manifest, region) ?? loadRegion(deps, manifest, region, part),
      ),
    );
    for (const each of loaded) {
      const hit = new Uint8Array(each.wanted!.count);
      const kept = new Uint8Array(each.wanted!.count);
      let device = 0;
      const onDevice = (n: number) => {
        device = n;
        if (!keys) hit[n] = 1;
      };
      const onKey = (key: number) => {
        if (keys && !keys.has(key)) {
          kept[device] = 1;
          return;
        }
        hit[device] = 1;
        change.pairs.set(key, (change.pairs.get(key) ?? 0) + 1);
      };
      joinRegion(each, { onDevice, onKey }, deps.hash);
      const changed = pick(each.wanted!, (n) => hit[n] === 1);
      if (changed.count === 0) continue;
      named.push(changed);
      preparing.add({ ...each, wanted: changed });
      change.devices += changed.count;
      const gone = pick(each.wanted!, (n) => hit[n] === 1 && kept[n] === 0);
      edit.remove(gone.count, gone.addresses);
      if (matchIn && gone.count > 0)
        change.matched += await countStored(deps, { space: matchIn, slot }, gone);
    }
  }
  if (named.length === 0) return undefined;
  const erasing = [...edit.layOut.asRegions(concatenate(named), wholeSlot)];
  for (const [, pages] of erasing) await edit.write(pages);
  edit.erase({
    regions: erasing.map(([region]) => region),
    ...(keys ? { keys: [...change.pairs.keys()] } : {}),
  });
  return preparing.finish(manifest.version + 1);
}

/** Prepares the page changes while the pages are in memory, up to PREPARED_BYTES. */
function prepare(deps: EditDeps, keys: Erasure['keys']) {
  let changes: Prepared['changes'] | undefined = [];
  let bytes = 0;
  return {
    add(loaded: LoadedRegion): void {
      if (!changes) return;
      for (const change of changesIn(deps, loaded, keys)) {
        changes.push(change);
        bytes += 2 * (change.d.length + change.k.length);
      }
      if (bytes > PREPARED_BYTES) changes = undefined;
    },
    finish: (version: number): Prepared | undefined => changes && { version, changes },
  };
}

/** Bumps the manifest's version, so that edits of the slot in flight start over. */
export const fenceSlot = (deps: EditDeps, target: Pick<SlotTarget, 'space' | 'slot'>): Promise<void> =>
  deps.oneAtATime(manifestId(target.space, target.slot), async () => {
    for (let attempt = 1; ; attempt++) {
      const manifest = await deps.manifests.read(target);
      if ((await deps.manifests.replace(manifest)) === 'landed') return;
      await waitAfterLoss(attempt, manifest._id);
    }
  });

/** The chosen devices, without their keys. */
function pick(devices: Devices, isChosen: (n: number) => boolean): Devices {
  const writer = createWriter(devices.count, 0);
  for (let n = 0; n < devices.count; n++) if (isChosen(n)) writer.begin(devices, n);
  return writer.finish();
}
