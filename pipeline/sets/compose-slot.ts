/** The composition of one slot of an audience. A device is in one slot, so the counts of slots add up. */
import { spaces } from '../../schemas/documents.ts';
import { inGroups, within } from '../runtime/in-groups.ts';
import { countKeys, countWithoutKeys, createKeyCounts } from './count-keys.ts';
import { countStored } from './count-stored.ts';
import type { Devices } from './devices.ts';
import type { EditDeps } from './edit-slot.ts';
import { joinRegion } from './join.ts';
import { devicesOf, readSlot } from './read-regions.ts';

export interface CompositionRequest {
  /** The audience, and the audiences to compare it with. */
  space: string;
  others: string[];
}

/** Manifests and pages of this many audiences share round trips; each takes up to 8 MB in memory. */
const OTHERS_AT_ONCE = 16;

/** Called between small pieces of work to yield to others. Rejects if the composition is no longer wanted. */
export type Pause = () => Promise<void>;

export interface SlotComposition {
  devices: number;
  /** Devices with at least one attribute. */
  matched: number;
  /** Common devices by attribute, and by space. */
  attributes: Map<number, number>;
  others: Map<string, number>;
  /** Devices by event number; 0: without an event. */
  events: Map<number, number>;
}

export async function composeSlot(
  deps: EditDeps,
  { space, others }: CompositionRequest,
  slot: number,
  pause: Pause = async () => {},
): Promise<SlotComposition> {
  const composition: SlotComposition = {
    devices: 0,
    matched: 0,
    attributes: new Map(),
    others: new Map(),
    events: new Map(),
  };
  for await (const loaded of readSlot(deps, { space, slot })) {
    await pause();
    const devices = devicesOf(loaded.levels, deps.hash);
    if (devices.count === 0) continue;
    composition.devices += devices.count;
    countKeys(devices.keys, composition.events);
    const without = countWithoutKeys(devices);
    if (without > 0) addTo(composition.events, 0, without);
    composition.matched += await countAttributes(deps, slot, devices, composition.attributes, pause);
    for (const group of inGroups(others, within({ count: OTHERS_AT_ONCE }))) {
      await pause();
      const counts = await Promise.all(
        group.map((other) => countStored(deps, { space: other, slot }, devices)),
      );
      for (const [i, other] of group.entries()) addTo(composition.others, other, counts[i]!);
    }
  }
  return composition;
}

async function countAttributes(
  deps: EditDeps,
  slot: number,
  devices: Devices,
  attributes: Map<number, number>,
  pause: Pause,
): Promise<number> {
  const counts = createKeyCounts();
  let matched = 0;
  for await (const loaded of readSlot(deps, { space: spaces.marketplace, slot }, devices)) {
    await pause();
    const stored = new Uint8Array(loaded.wanted!.count);
    const onDevice = (n: number) => {
      matched += 1 - stored[n]!;
      stored[n] = 1;
    };
    joinRegion(loaded, { onDevice, onKey: counts.add }, deps.hash);
  }
  counts.addTo(attributes);
  return matched;
}

const addTo = <K>(counts: Map<K, number>, key: K, count: number) =>
  counts.set(key, (counts.get(key) ?? 0) + count);
