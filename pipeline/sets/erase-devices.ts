/**
 * Takes devices, or some of their keys, out of a slot of a space, at the cost of the pages that hold them.
 *
 * First the manifest is replaced by one that says what is removed: like every change, that happens once. Then the pages are changed where
 * they are; a process that dies meanwhile leaves devices in them, which do not count any more, and the next one goes on. Last the manifest
 * is replaced again: an edit that read the pages before would bring the devices back, so it has to lose.
 */
import { countStored } from './count-stored.ts';
import { compare, createWriter, type Devices, firstKey, noDevices } from './devices.ts';
import { type EditDeps, type Edited, editSlot, type SlotEdit, type SlotTarget } from './edit-slot.ts';
import { joinRegion } from './join.ts';
import { type Manifest, manifestId } from './manifests.ts';
import { decode, encode } from './page-format.ts';
import type { StoredPage } from './page-reply.ts';
import { Raced, waitAfterLoss } from './races.ts';
import { groupsOf, loadRegion } from './read-regions.ts';

export interface Erasure extends SlotTarget {
  /** Only these keys, and devices that have no other; absent: the devices. */
  keys?: ReadonlySet<number> | undefined;
  /** The space whose devices count as matches of those that are removed. */
  matchIn?: string | undefined;
}

/** Once a job. The devices are in no page when this resolves. */
export async function eraseDevices(deps: EditDeps, target: Erasure, wanted: Devices): Promise<Edited> {
  const edited = await editSlot(deps, target, (edit) => count(deps, edit, target, wanted));
  const { job } = target.jobs[0]!;
  if (edited.changes.some((one) => one.job === job && !one.dropped))
    await deps.oneAtATime(manifestId(target.space, target.slot), () => takeOut(deps, target, wanted));
  return edited;
}

async function count(deps: EditDeps, edit: SlotEdit, target: Erasure, wanted: Devices): Promise<void> {
  const { keys, matchIn, slot } = target;
  const { change } = edit;
  for (const group of groupsOf(withLevels(edit.manifest), wanted)) {
    await edit.renew();
    const loaded = await Promise.all(
      group.map(([region, part]) => loadRegion(deps, edit.manifest, region, part)),
    );
    for (const one of loaded) {
      const hit = new Uint8Array(one.wanted!.count);
      const kept = new Uint8Array(one.wanted!.count);
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
      joinRegion(one, { onDevice, onKey }, deps.hash);
      const changed = hit.reduce((sum, one) => sum + one, 0);
      if (changed === 0) continue;
      edit.touch();
      change.devices += changed;
      const gone = pick(one.wanted!, (n) => hit[n] === 1 && kept[n] === 0);
      edit.total -= gone.count;
      if (matchIn && gone.count > 0)
        change.matched += await countStored(deps, { space: matchIn, slot }, gone);
    }
  }
}

/** Edits of the slot that are in flight start over. */
export const fenceSlot = (deps: EditDeps, target: Pick<SlotTarget, 'space' | 'slot'>): Promise<void> =>
  deps.oneAtATime(manifestId(target.space, target.slot), () => takeOut(deps, target, noDevices));

/** Until no page that the manifest names holds them, and no edit in flight has read one that did. */
type Taken = Pick<Erasure, 'space' | 'slot' | 'keys'>;

async function takeOut(deps: EditDeps, target: Taken, wanted: Devices): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const manifest = await deps.manifests.read(target);
    // Its space was removed.
    if (manifest.version === 0 && wanted.count > 0) return;
    const isDone = await takeOutOf(deps, manifest, target, wanted).catch((error) => {
      if (error instanceof Raced) return false;
      throw error;
    });
    if (isDone && (await deps.manifests.replace(manifest)) === 'landed') return;
    await waitAfterLoss(attempt, manifest._id);
  }
}

async function takeOutOf(
  deps: EditDeps,
  manifest: Manifest,
  { keys }: Taken,
  wanted: Devices,
): Promise<boolean> {
  for (const group of groupsOf(withLevels(manifest), wanted)) {
    const loaded = await Promise.all(group.map(([region, part]) => loadRegion(deps, manifest, region, part)));
    const changes = loaded.flatMap(({ wanted: part, levels }) =>
      levels.flatMap(({ pages }) => pages.flatMap((page) => without(deps, page, part!, keys))),
    );
    if (changes.length > 0 && !(await deps.pages.change(changes))) return false;
  }
  return true;
}

const withLevels = ({ regions }: Manifest) => regions.filter(({ levels }) => levels.length > 0);

/** The page without the devices, if it holds any of them. */
function without({ hash }: EditDeps, page: StoredPage, wanted: Devices, keys: Erasure['keys']) {
  const { reply } = page;
  const encoded = {
    devices: reply.subarray(page.devices, page.devicesEnd),
    keys: reply.subarray(page.keys, page.keysEnd),
  };
  const before = decode(encoded, hash);
  const writer = createWriter(before.count, before.keys.length);
  let isChanged = false;
  for (let n = 0, at = 0; n < before.count; n++) {
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
  if (!isChanged) return [];
  const { devices: d, keys: k } = encode(writer.finish());
  return [{ page, d, k }];
}

/** Those that are chosen, without their keys. */
function pick(devices: Devices, isChosen: (n: number) => boolean): Devices {
  const writer = createWriter(devices.count, 0);
  for (let n = 0; n < devices.count; n++) if (isChosen(n)) writer.begin(devices, n);
  return writer.finish();
}
