/** Composes an audience slot by slot and adds the slots up. Runs in a thread of its own (thread.ts). */
import { packNumbers } from '../../pipeline/formats/number-table.ts';
import { inGroups, within } from '../../pipeline/runtime/in-groups.ts';
import type { Retry } from '../../pipeline/runtime/retry.ts';
import {
  createDistinctCounter,
  type DeviceSets,
  type SlotComposition,
} from '../../pipeline/sets/device-sets.ts';
import { setNames } from '../../schemas/documents.ts';
import { SLOTS } from '../../schemas/topics.ts';

export interface AudienceGeneration {
  audience: number;
  generation: number;
}

export interface Wanted extends AudienceGeneration {
  others: AudienceGeneration[];
  /** Whether to count the distinct devices of all attributes. */
  countMarketplace: boolean;
}

/** As in a CompositionReport. */
export interface Composed {
  devices: number;
  matched: number;
  marketplaceDevices: number | null;
  attributes: Uint8Array;
  others: Uint8Array;
  events: { event: string; devices: number }[];
}

/** A report must fit into a document. */
const MAX_EVENTS = { count: 20_000, bytes: 6_000_000 };

const mostFirst = (a: number[], b: number[]) => b.at(-1)! - a.at(-1)! || a[0]! - b[0]!;
const inOrder = (a: string, b: string) => (a < b ? -1 : 1);

export function createComposeSlots(sets: Pick<DeviceSets, 'compose'>, retry: Retry) {
  const counter = createDistinctCounter();

  return async (
    { audience, generation, others, countMarketplace }: Wanted,
    onProgress: (progress: number) => void,
  ): Promise<Composed> => {
    const set = setNames.audience(audience, generation);
    const byName = new Map(others.map((one) => [setNames.audience(one.audience, one.generation), one]));
    const request = { set, others: [...byName.keys()], distinct: countMarketplace ? counter : undefined };
    const sums = createSums();
    for (let slot = 0; slot < SLOTS; slot++) {
      sums.add(await retry('compose a slot', () => sets.compose(request, slot)));
      onProgress((slot + 1) / SLOTS);
    }
    const attributes = sums.attributes.rows((name) => [setNames.attributeOf(name)]);
    const overlaps = sums.others.rows((name) => [byName.get(name)!.audience, byName.get(name)!.generation]);
    const events = [...sums.events]
      .map(([name, devices]) => ({ event: name.slice(`${set}:event:`.length), devices }))
      .sort((a, b) => b.devices - a.devices || inOrder(a.event, b.event));
    const sizeOf = ({ event }: { event: string }) => Buffer.byteLength(event);
    const [listed = []] = inGroups(events, within(MAX_EVENTS, sizeOf));
    return {
      devices: sums.devices,
      matched: sums.matched,
      marketplaceDevices: countMarketplace ? sums.marketplaceDevices : null,
      attributes: packNumbers(attributes),
      others: packNumbers(overlaps),
      events: listed,
    };
  };
}

function createSums() {
  const sums = {
    devices: 0,
    matched: 0,
    marketplaceDevices: 0,
    attributes: createSharedSums(),
    others: createSharedSums(),
    events: new Map<string, number>(),
    add(slot: SlotComposition): void {
      sums.devices += slot.devices;
      sums.matched += slot.matched;
      sums.marketplaceDevices += slot.marketplaceDevices ?? 0;
      sums.attributes.add(slot.attributes);
      sums.others.add(slot.others);
      for (const { set, devices } of slot.events) sums.events.set(set, (sums.events.get(set) ?? 0) + devices);
    },
  };
  return sums;
}

function createSharedSums() {
  const bySet = new Map<string, { devices: number; common: number }>();
  return {
    add(shared: SlotComposition['attributes']): void {
      for (const { set, devices, common } of shared) {
        const sum = bySet.get(set);
        if (sum) {
          sum.devices += devices;
          sum.common += common;
        } else bySet.set(set, { devices, common });
      }
    },
    /** Of each set: what identifies it, its devices, the common ones. */
    rows: (idOf: (set: string) => number[]): number[][] =>
      [...bySet].map(([set, { devices, common }]) => [...idOf(set), devices, common]).sort(mostFirst),
  };
}
