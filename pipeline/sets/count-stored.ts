/** Counts the devices of an audience that a space holds, from the space or from an earlier look-ahead. */
import { compare, type Devices } from './devices.ts';
import { joinLevel } from './join.ts';
import type { Manifest } from './manifests.ts';
import { type ReadDeps, readSlot } from './read-regions.ts';
import { rangeIn } from './regions.ts';

interface Target {
  space: string;
  slot: number;
}

/** Results by level. A level is immutable, so a result is valid as long as a manifest references the level. */
export interface Found {
  /** The devices looked for. */
  readonly devices: Devices;
  /** By level: 1 for each device of its region that it holds. */
  readonly byLevel: ReadonlyMap<string, Uint8Array>;
}

export async function lookFor(deps: ReadDeps, target: Target, devices: Devices): Promise<Found> {
  const byLevel = new Map<string, Uint8Array>();
  for await (const { wanted, levels } of readSlot(deps, target, devices))
    for (const loaded of levels) {
      const isHeld = new Uint8Array(wanted!.count);
      const onDevice = (n: number) => {
        isHeld[n] = 1;
      };
      joinLevel(wanted!, loaded, { onDevice }, deps.hash);
      byLevel.set(loaded.level.token, isHeld);
    }
  return { devices, byLevel };
}

/** Reads only levels without a known result. */
export async function countStored(
  deps: ReadDeps,
  target: Target,
  wanted: Devices,
  { found, from }: { found?: Found | undefined; from?: Promise<Manifest> | undefined } = {},
): Promise<number> {
  const places = found && placesOf(wanted, found.devices);
  const known = places ? found.byLevel : nothing;
  let count = 0;
  for await (const { region, wanted: part, levels } of readSlot(deps, target, wanted, { known, from })) {
    const stored = new Uint8Array(part!.count);
    const onDevice = (n: number) => {
      count += 1 - stored[n]!;
      stored[n] = 1;
    };
    for (const loaded of levels) joinLevel(part!, loaded, { onDevice }, deps.hash);
    if (!places) continue;
    const [from] = rangeIn(wanted, region);
    const [foundFrom] = rangeIn(found.devices, region);
    for (const { token } of region.levels) {
      const isHeld = known.get(token);
      for (let n = 0; isHeld && n < part!.count; n++)
        if (isHeld[places[from + n]! - foundFrom] === 1) onDevice(n);
    }
  }
  return count;
}

const nothing: Found['byLevel'] = new Map();

/** The index of each wanted device among the others; undefined if one is missing. */
function placesOf(wanted: Devices, devices: Devices): Uint32Array | undefined {
  const places = new Uint32Array(wanted.count);
  for (let n = 0, at = 0; n < wanted.count; n++) {
    while (at < devices.count && compare(devices, at, wanted, n) < 0) at++;
    if (at === devices.count || compare(devices, at, wanted, n) > 0) return undefined;
    places[n] = at;
  }
  return places;
}
