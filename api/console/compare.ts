/** Two reports side by side. */
import type { Composition } from '../client/types.ts';
import { categoryOf } from './stand-out.ts';

export interface Pair {
  key: string | number;
  name: string;
  owner?: string;
  shares: [this: number, other: number];
  difference: number;
}

type Part = Omit<Pair, 'shares' | 'difference'> & { share: number };

/** Largest differences first. A row missing in one report has a share of 0 there. */
function pair(ones: Part[], others: Part[]): Pair[] {
  const byKey = new Map(others.map((part) => [part.key, part]));
  const all = new Map([...others, ...ones].map((part) => [part.key, part]));
  const shareIn = new Map(ones.map(({ key, share }) => [key, share]));
  return [...all.values()]
    .map(({ share: _, ...part }): Pair => {
      const shares: Pair['shares'] = [shareIn.get(part.key) ?? 0, byKey.get(part.key)?.share ?? 0];
      return { ...part, shares, difference: shares[0] - shares[1] };
    })
    .filter(({ shares }) => shares[0] > 0 || shares[1] > 0)
    .sort((a, b) => Math.abs(b.difference) - Math.abs(a.difference) || (a.name < b.name ? -1 : 1));
}

const attributesOf = ({ attributes }: Composition): Part[] =>
  attributes.map(({ attribute_id: key, name, owner, share }) => {
    const { category, label } = categoryOf(name);
    return { key, name: label, owner: category ? `${owner}, ${category}` : owner, share };
  });

const eventsOf = ({ events, unique_devices }: Composition): Part[] =>
  events.map(({ event, devices }) => ({
    key: event,
    name: event,
    share: (devices ?? 0) / Math.max(1, unique_devices),
  }));

export const compareReports = (one: Composition, other: Composition) => ({
  attributes: pair(attributesOf(one), attributesOf(other)),
  events: pair(eventsOf(one), eventsOf(other)),
});

/** null: unknown, because a report lists only its largest overlaps, and none below the privacy floor. */
export function commonDevices(one: Composition, other: Composition): number | null {
  const found =
    one.overlaps.find(({ audience_id }) => audience_id === other.audience_id) ??
    other.overlaps.find(({ audience_id }) => audience_id === one.audience_id);
  if (found) return found.devices;
  const isWhole = ({ overlaps, overlap_count, overlaps_complete, floor }: Composition) =>
    overlaps.length === overlap_count && overlaps_complete && floor === 0;
  return isWhole(one) || isWhole(other) ? 0 : null;
}
