/** Everything that the composition of an audience needs to know about one slot. A device is in one slot, so counts add up. */
import { inGroups, within } from '../runtime/in-groups.ts';
import type { DistinctCounter } from './distinct-counter.ts';
import { between } from './drop-sets.ts';
import { type Manifest, manifestCollection } from './manifests.ts';
import { countMarked, type OverlapDeps, probeSets, readAttributes, type Shared } from './overlap.ts';
import { DEVICE_BYTES, emptySet } from './packed-order.ts';

export interface CompositionRequest {
  /** The set of an audience, and those of the audiences to compare it with. */
  set: string;
  others: string[];
  /** Counts the devices of all attributes, if wanted: every attribute is then read from end to end. */
  distinct?: DistinctCounter | undefined;
}

export interface SlotComposition {
  devices: number;
  /** Devices that at least one attribute holds. */
  matched: number;
  /** Distinct devices of all attributes; null if they were not to be counted. */
  marketplaceDevices: number | null;
  attributes: Shared[];
  others: Shared[];
  events: { set: string; devices: number }[];
}

const READ_AT_ONCE = 500;

export async function composeSlot(
  deps: OverlapDeps,
  devices: Uint8Array,
  { set, others, distinct }: CompositionRequest,
  slot: number,
): Promise<SlotComposition> {
  const count = devices.byteLength / DEVICE_BYTES;
  const bits = new Uint8Array(count);
  distinct?.begin();
  const attributes = await probeSets(deps, readAttributes(deps.db, slot), {
    devices,
    bits,
    slot,
    onDevices: distinct?.add,
  });
  while (distinct?.nextRange()) {
    const rest = { devices: emptySet, bits: new Uint8Array(0), slot, onDevices: distinct.add };
    await probeSets(deps, readAttributes(deps.db, slot), rest);
  }
  return {
    devices: count,
    matched: countMarked(bits),
    marketplaceDevices: distinct?.count() ?? null,
    attributes,
    others: await probeSets(deps, readSets(deps, others, slot), {
      devices,
      bits: new Uint8Array(count),
      slot,
    }),
    events: await countEvents(deps, set, slot),
  };
}

async function* readSets({ manifests }: OverlapDeps, sets: string[], slot: number): AsyncGenerator<Manifest> {
  for (const some of inGroups(sets, within({ count: READ_AT_ONCE }))) {
    for (const manifest of await manifests.read(some.map((set) => ({ set, slot }))))
      if (manifest.count > 0) yield manifest;
  }
}

async function countEvents({ db }: OverlapDeps, set: string, slot: number) {
  const found = await manifestCollection(db)
    .find({ slot, set: between(`${set}:event:`), count: { $gt: 0 } })
    .project<{ set: string; count: number }>({ _id: 0, set: 1, count: 1 })
    .toArray();
  return found.map(({ set: event, count }) => ({ set: event, devices: count }));
}
