/** The expected composition report of an audience, computed from the oracle's plain Sets. */
import type { z } from 'zod';
import type { composition } from '../../schemas/http-composition.ts';
import type { Oracle } from './oracle.ts';
import { setNames } from './stored-sets.ts';

type Composition = z.output<typeof composition>;

export interface ReportedAttribute {
  name: string;
  partner: { _id: string; name: string };
  visibility: 'public' | 'private';
}

export interface ReportedAudience {
  id: number;
  name: string;
  partner: string;
  /** Loads since the last clear, oldest first. */
  loads: number[];
}

const common = (a: Set<string>, b: Set<string>) => [...a].filter((device) => b.has(device)).length;
const inOrder = (a: string, b: string) => (a < b ? -1 : 1);

export function expectedComposition(
  oracle: Oracle,
  all: readonly ReportedAudience[],
  { id, name, partner, loads }: ReportedAudience,
  described: ReadonlyMap<number, ReportedAttribute>,
): Omit<Composition, 'computed_at'> {
  const setOf = (audience: number) =>
    oracle.members(setNames.audience(audience, oracle.audiences.get(audience)!.generation));
  const own = setOf(id);
  const held = oracle.attributes
    .map((attribute) => ({ id: attribute.id, devices: oracle.members(setNames.attribute(attribute.id)) }))
    .filter(({ devices }) => devices.size > 0);
  const marketplace = new Set(held.flatMap(({ devices }) => [...devices]));
  const matched = common(own, marketplace);

  const newest = new Map(loads.flatMap((job) => oracle.files.get(job)!.map((file) => [file.path, file])));
  const rowsOf = (event: string) =>
    [...newest.values()].reduce((sum, { failure, events }) => sum + (failure ? 0 : (events[event] ?? 0)), 0);
  const prefix = setNames.event(id, oracle.audiences.get(id)!.generation, '');
  const eventSets = oracle.filledSets().filter((set) => set.startsWith(prefix));
  const withEvent = new Set(eventSets.flatMap((set) => [...oracle.members(set)]));

  const overlaps = all
    .filter((other) => other.partner === partner && other.id !== id && setOf(other.id).size > 0)
    .map((other) => {
      const both = common(own, setOf(other.id));
      return {
        audience_id: other.id,
        name: other.name,
        devices: both,
        share_of_this: both / own.size,
        share_of_other: both / setOf(other.id).size,
      };
    })
    .filter(({ devices }) => devices > 0)
    .sort((a, b) => b.devices - a.devices || a.audience_id - b.audience_id);

  return {
    audience_id: id,
    name,
    current: true,
    floor: 0,
    unique_devices: own.size,
    matched_devices: matched,
    match_rate: matched / own.size,
    marketplace_devices: marketplace.size,
    attributes: held
      .map(({ id: attribute_id, devices }) => {
        const both = common(own, devices);
        const share = both / own.size;
        const index = 100 * (share / (devices.size / marketplace.size));
        const { partner: owner, ...rest } = described.get(attribute_id)!;
        return {
          attribute_id,
          ...rest,
          owner: owner.name,
          own: owner._id === partner,
          devices: both,
          share,
          index,
        };
      })
      .filter((row) => row.devices > 0 && (row.own || row.visibility === 'public'))
      .sort((a, b) => b.devices - a.devices || a.attribute_id - b.attribute_id),
    events: [
      ...eventSets.map((set) => {
        const event = set.slice(prefix.length);
        return { event, devices: oracle.members(set).size, rows: rowsOf(event) };
      }),
      { event: '(no event)', devices: own.size - withEvent.size, rows: rowsOf('') },
    ]
      .filter(({ devices }) => withEvent.size > 0 && devices > 0)
      .sort((a, b) => b.devices - a.devices || inOrder(a.event, b.event)),
    overlap_count: overlaps.length,
    overlaps_complete: true,
    overlaps,
  };
}
