/** Composes an audience slot by slot, turns the sums into a report, and stores its attribute rows. Runs in a thread (thread.ts). */

import type { Retry } from '../../../pipeline/engine/retry.ts';
import { packNumbers } from '../../../pipeline/formats/number-table.ts';
import { inGroups, within } from '../../../pipeline/runtime/in-groups.ts';
import type { TimeSharing } from '../../../pipeline/runtime/time-sharing.ts';
import type { DeviceSets } from '../../../pipeline/sets/device-sets.ts';
import type { Stores } from '../../../pipeline/stores/stores.ts';
import { spaces } from '../../../schemas/documents.ts';
import { renderRows } from './attribute-rows.ts';
import {
  type CountedAudience,
  createDescribeAttributes,
  createNameEvents,
  type NamedEvent,
} from './name-rows.ts';

export interface Wanted {
  /** The claim's token. */
  token: string;
  partner: string;
  audience: number;
  generation: number;
  /** The last load included. */
  loadedBy: number;
  /** The audiences to compare it with. */
  others: { audience: number; generation: number; devices: number }[];
}

/** As in a CompositionReport. */
export interface Composed {
  devices: number;
  matched: number;
  marketplaceDevices: number;
  rowParts: number;
  others: Uint8Array;
  events: NamedEvent[];
}

type UsedStores =
  | 'attributeDevices'
  | 'attributes'
  | 'compositionRows'
  | 'counters'
  | 'eventValues'
  | 'files'
  | 'partners';

interface Dependencies extends Pick<Stores, UsedStores> {
  sets: Pick<DeviceSets, 'compose' | 'count'>;
  /** Shares the thread with other reports being composed. */
  sharing: TimeSharing;
  retry: Retry;
}

/** About 150 KB of a response. */
const ROWS_A_PART = 1_000;

const mostFirst = (a: number[], b: number[]) => b.at(-1)! - a.at(-1)! || a[0]! - b[0]!;

export function createComposeAudience(deps: Dependencies) {
  const { sets, counters, compositionRows, sharing, retry } = deps;
  const nameEvents = createNameEvents(deps);
  const describeAttributes = createDescribeAttributes(deps);

  async function composeSlots(
    request: { space: string; others: string[] },
    onProgress: (progress: number) => void,
    signal: AbortSignal,
  ) {
    const sums = createSums();
    const slots = await retry('read the number of slots', counters.slotCount, signal);
    const share = await sharing.join();
    const pause = async () => {
      await share.pause();
      signal.throwIfAborted();
    };
    try {
      for (let slot = 0; slot < slots; slot++) {
        const composed = await retry('compose a slot', () => sets.compose(request, slot, pause), signal);
        sums.devices += composed.devices;
        sums.matched += composed.matched;
        addAll(sums.attributes, composed.attributes);
        addAll(sums.others, composed.others);
        addAll(sums.events, composed.events);
        onProgress((slot + 1) / slots);
      }
      return sums;
    } finally {
      share.end();
    }
  }

  /** Returns the number of parts. */
  async function storeRows(
    wanted: Wanted,
    attributes: ReadonlyMap<number, number>,
    audience: CountedAudience,
    signal: AbortSignal,
  ): Promise<number> {
    let parts = 0;
    for (const some of inGroups([...attributes].sort(mostFirst), within({ count: ROWS_A_PART }))) {
      const rows = await retry('name the attributes', () => describeAttributes(some, audience), signal);
      if (rows.length === 0) continue;
      const rendered = renderRows(rows);
      const part = parts++;
      await retry('store the rows of a report', () => compositionRows.add(wanted, part, rendered), signal);
    }
    return parts;
  }

  return async (
    wanted: Wanted,
    onProgress: (progress: number) => void,
    signal: AbortSignal,
  ): Promise<Composed> => {
    const { partner, audience, generation } = wanted;
    const others = wanted.others.map((other) => ({
      ...other,
      space: spaces.audience(other.audience, other.generation),
    }));
    const request = {
      space: spaces.audience(audience, generation),
      others: others.map(({ space }) => space),
    };
    const { devices, matched, ...sums } = await composeSlots(request, onProgress, signal);
    const marketplace = await retry('count the marketplace', () => sets.count(spaces.marketplace), signal);
    const events = await retry('name the events', () => nameEvents(wanted, sums.events), signal);
    const marketplaceDevices = Math.max(matched, marketplace);
    const counted = { partner, devices, marketplaceDevices };
    const rowParts = await storeRows(wanted, sums.attributes, counted, signal);
    // The counts are not one snapshot while a job commits: never show a part larger than the whole.
    const overlaps = others.flatMap((other) => {
      const common = sums.others.get(other.space) ?? 0;
      return common > 0 ? [[other.audience, other.generation, Math.max(common, other.devices), common]] : [];
    });
    return {
      devices,
      matched,
      marketplaceDevices,
      rowParts,
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
