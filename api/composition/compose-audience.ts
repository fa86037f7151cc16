/** Composes an audience slot by slot, and makes of the sums what its report holds. Runs in a thread of its own (thread.ts). */
import { packNumbers } from '../../pipeline/formats/number-table.ts';
import type { Retry } from '../../pipeline/runtime/retry.ts';
import type { DeviceSets } from '../../pipeline/sets/device-sets.ts';
import type { Stores } from '../../pipeline/stores/stores.ts';
import { spaces } from '../../schemas/documents.ts';
import { createNameEvents, type NamedEvent } from './name-events.ts';

export interface Wanted {
  audience: number;
  generation: number;
  /** The last load that is part of it. */
  loadedBy: number;
  /** The audiences to compare it with. */
  others: { audience: number; generation: number; devices: number }[];
}

/** As in a CompositionReport. */
export interface Composed {
  devices: number;
  matched: number;
  marketplaceDevices: number;
  attributes: Uint8Array;
  others: Uint8Array;
  events: NamedEvent[];
}

interface Dependencies extends Pick<Stores, 'attributeDevices' | 'counters' | 'eventValues' | 'files'> {
  sets: Pick<DeviceSets, 'compose' | 'count'>;
  retry: Retry;
}

const mostFirst = (a: number[], b: number[]) => b.at(-1)! - a.at(-1)! || a[0]! - b[0]!;

export function createComposeAudience(deps: Dependencies) {
  const { sets, counters, attributeDevices, retry } = deps;
  const nameEvents = createNameEvents(deps);

  async function composeSlots(
    request: { space: string; others: string[] },
    onProgress: (progress: number) => void,
    signal: AbortSignal,
  ) {
    const sums = createSums();
    const slots = await retry('read the number of slots', counters.slotCount, signal);
    for (let slot = 0; slot < slots; slot++) {
      const composed = await retry('compose a slot', () => sets.compose(request, slot, signal), signal);
      sums.devices += composed.devices;
      sums.matched += composed.matched;
      addAll(sums.attributes, composed.attributes);
      addAll(sums.others, composed.others);
      addAll(sums.events, composed.events);
      onProgress((slot + 1) / slots);
    }
    return sums;
  }

  return async (
    wanted: Wanted,
    onProgress: (progress: number) => void,
    signal: AbortSignal,
  ): Promise<Composed> => {
    const { audience, generation } = wanted;
    const others = wanted.others.map((other) => ({
      ...other,
      space: spaces.audience(other.audience, other.generation),
    }));
    const request = {
      space: spaces.audience(audience, generation),
      others: others.map(({ space }) => space),
    };
    const { devices, matched, ...sums } = await composeSlots(request, onProgress, signal);
    const held = await retry('read the devices of attributes', () => attributeDevices.all(), signal);
    const marketplace = await retry('count the marketplace', () => sets.count(spaces.marketplace), signal);
    const events = await retry('name the events', () => nameEvents(wanted, sums.events), signal);

    // While a job is merged, or just ended, one of the counts may be ahead of the other: a part is never more than the whole.
    const attributes = [...new Set([...held.keys(), ...sums.attributes.keys()])].map((attribute) => {
      const common = sums.attributes.get(attribute) ?? 0;
      return [attribute, Math.max(common, held.get(attribute) ?? 0), common];
    });
    const overlaps = others.map((other) => {
      const common = sums.others.get(other.space) ?? 0;
      return [other.audience, other.generation, Math.max(common, other.devices), common];
    });
    return {
      devices,
      matched,
      marketplaceDevices: Math.max(matched, marketplace),
      attributes: packNumbers(attributes.sort(mostFirst)),
      others: packNumbers(overlaps.sort(mostFirst)),
      events,
    };
  };
}

const createSums = () => ({
  devices: 0,
  matched: 0,
  attributes: new Map<number, number>(),
  others: new Map<string, number>(),
  events: new Map<number, number>(),
});

function addAll<Key>(sums: Map<Key, number>, counts: ReadonlyMap<Key, number>): void {
  for (const [key, count] of counts) sums.set(key, (sums.get(key) ?? 0) + count);
}
