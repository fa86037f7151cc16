/**
 * Merges one job into the device sets of some slots, acknowledges it, and only then lets the slots advance. Done again after a crash it ends the same: sets do not
 * change when merged twice, and an acknowledgement, once written, stays.
 */

import { setNames } from '../../../schemas/documents.ts';
import type { CommitMarker, ValidatedDevices } from '../../../schemas/topics.ts';
import { OTHER_EVENTS } from '../../formats/parse-rows.ts';
import { createByteBudget } from '../../runtime/byte-budget.ts';
import { faultPoint } from '../../runtime/fault-points.ts';
import type { Retry } from '../../runtime/retry.ts';
import type { DeviceSets } from '../../sets/device-sets.ts';
import { countDistinct, deviceCount, sortDistinct, union } from '../../sets/packed.ts';
import type { Ack, AckStore } from '../../stores/acks.ts';
import type { SpillStore } from '../../stores/spills.ts';
import type { Uncommitted } from './uncommitted.ts';

export type MergeSlots = (
  marker: CommitMarker,
  slots: number[],
  uncommitted: Uncommitted,
  signal: AbortSignal,
) => Promise<void>;

interface Dependencies {
  retry: Retry;
  sets: DeviceSets;
  acks: AckStore;
  spills: SpillStore;
}

/** The devices of one slot, sorted and distinct. */
interface GatheredSlot {
  slot: number;
  /** By set. */
  sets: Map<string, Uint8Array>;
  uniqueDevices: number;
  pairs: number;
  filePairs: number[];
}

/**
 * Slots are merged together, and partitions at the same time, up to this much: round trips are what many small jobs cost, memory
 * (several times this, for copies on the way to MongoDB) what a large one does.
 */
const TOGETHER_BYTES = 8_000_000;

export function createMergeSlots({ retry, sets, acks, spills }: Dependencies): MergeSlots {
  const budget = createByteBudget(TOGETHER_BYTES);

  async function load(
    marker: CommitMarker,
    slots: number[],
    uncommitted: Uncommitted,
    signal: AbortSignal,
  ): Promise<void> {
    const spilled = await retry('see what was put aside', () => spills.sizeOf(marker.job, slots), signal);
    const sizeOf = (slot: number) => uncommitted.bytesOf(marker.job, slot) + (spilled.get(slot) ?? 0);
    for (const some of together(slots, sizeOf)) {
      const bytes = some.reduce((sum, slot) => sum + sizeOf(slot), 0);
      await budget.use(bytes, () => mergeTogether(some));
    }
    if (spilled.size > 0) {
      await retry('drop what was put aside', () => spills.forget(slots, marker.job), signal);
      faultPoint('sink:after-forget-spills');
    }

    async function mergeTogether(some: number[]): Promise<void> {
      const gathered: GatheredSlot[] = [];
      for (const slot of some) {
        const aside = spilled.has(slot)
          ? await retry('read what was put aside', () => spills.read(marker.job, slot), signal)
          : [];
        gathered.push(gather(marker, slot, [...aside, ...uncommitted.of(marker.job, slot)]));
      }
      await mergeGathered(marker, gathered, signal);
    }
  }

  async function mergeGathered(
    marker: CommitMarker,
    gathered: GatheredSlot[],
    signal: AbortSignal,
  ): Promise<void> {
    const stillOurs = async () => {
      const done = await acks.committedJobs(gathered.map(({ slot }) => slot));
      return [...done.values()].every((job) => job < marker.job);
    };
    const additions = gathered.flatMap(({ slot, sets: bySet }) =>
      [...bySet].map(([set, devices]) => ({ set, slot, devices })),
    );
    await retry('merge into the device sets', () => sets.add(additions, stillOurs), signal);
    const entries: Ack[] = [];
    for (const { slot, uniqueDevices, pairs, filePairs } of gathered) {
      let overlap = { devices: 0, matched: 0 };
      if (marker.audience !== null) {
        const audience = setNames.audience(marker.audience, marker.generation!);
        overlap = await retry('overlap with the attributes', () => sets.overlap(audience, slot), signal);
      }
      entries.push({
        job: marker.job,
        slot,
        uniqueDevices,
        pairs,
        filePairs,
        audienceDevices: overlap.devices,
        matchedDevices: overlap.matched,
      });
    }
    faultPoint('sink:before-ack');
    await retry('acknowledge', () => acks.recordAndAdvance(entries), signal);
    faultPoint('sink:after-ack');
  }

  async function remove(marker: CommitMarker, slots: number[], signal: AbortSignal): Promise<void> {
    const names = marker.attributes.map(setNames.attribute);
    const counted = await retry('see what was counted', () => acks.counted(marker.job, slots), signal);
    for (const slot of slots) {
      // Counted before anything is removed: done again, there would be less to count. Acknowledged when it is gone.
      if (!counted.has(slot)) {
        const held = await Promise.all(
          names.map((set) => retry('read a set', () => sets.read(set, slot), signal)),
        );
        const entry: Ack = {
          job: marker.job,
          slot,
          uniqueDevices: countDistinct(held),
          pairs: held.reduce((sum, devices) => sum + deviceCount(devices), 0),
          filePairs: [],
          audienceDevices: 0,
          matchedDevices: 0,
        };
        faultPoint('sink:before-count-deleted');
        await retry('count what will be removed', () => acks.count(entry), signal);
        faultPoint('sink:after-count-deleted');
      }
      const stillOurs = async () => ((await acks.committedJobs([slot])).get(slot) ?? 0) < marker.job;
      faultPoint('sink:before-drop');
      await retry('empty the sets', () => sets.drop(names, slot, stillOurs), signal);
      faultPoint('sink:after-drop');
      await retry('acknowledge', () => acks.removed(slot, marker.job), signal);
      faultPoint('sink:after-advance');
    }
  }

  return (marker, slots, uncommitted, signal) =>
    marker.kind === 'delete' ? remove(marker, slots, signal) : load(marker, slots, uncommitted, signal);
}

/** Cuts the slots into groups of bounded size, at least one slot each. */
function* together(slots: number[], sizeOf: (slot: number) => number): Generator<number[]> {
  let group: number[] = [];
  let bytes = 0;
  for (const slot of slots) {
    if (group.length > 0 && bytes + sizeOf(slot) > TOGETHER_BYTES) {
      yield group;
      group = [];
      bytes = 0;
    }
    group.push(slot);
    bytes += sizeOf(slot);
  }
  if (group.length > 0) yield group;
}

/** Sorts what came for a slot into its sets: only files that passed, each batch once. */
function gather(marker: CommitMarker, slot: number, messages: ValidatedDevices[]): GatheredSlot {
  const passed = rangesOf(marker.passed);
  const collapsed = new Set(marker.collapsed);
  const seen = new Set<string>();
  const byFile = new Map<number, Map<string, Uint8Array[]>>();
  let pairs = 0;
  for (const { file, batch, part, groups } of messages) {
    const name = `${file}.${batch}.${part}`;
    if (!passed(file) || seen.has(name)) continue;
    seen.add(name);
    const bySet = byFile.get(file) ?? new Map<string, Uint8Array[]>();
    byFile.set(file, bySet);
    for (const { key, devices } of groups) {
      pairs += deviceCount(devices);
      const set = collapsed.has(file) ? OTHER_EVENTS : key;
      const known = bySet.get(set);
      if (known) known.push(devices);
      else bySet.set(set, [devices]);
    }
  }

  const filePairs: number[] = [];
  const byKey = new Map<string, Uint8Array[]>();
  for (const [file, bySet] of byFile) {
    let distinct = 0;
    for (const [key, parts] of bySet) {
      const devices = sortDistinct(concatenate(parts));
      distinct += deviceCount(devices);
      const known = byKey.get(key);
      if (known) known.push(devices);
      else byKey.set(key, [devices]);
    }
    filePairs.push(file, distinct);
  }

  const keyed = [...byKey].map(([key, parts]) => ({ key, devices: union(parts) }));
  const all = keyed.map(({ devices }) => devices);
  const sets = new Map<string, Uint8Array>();
  if (marker.audience === null) {
    for (const { key, devices } of keyed) sets.set(setNames.attribute(Number(key)), devices);
    return { slot, sets, uniqueDevices: countDistinct(all), pairs, filePairs };
  }
  const everyone = union(all);
  const { audience, generation } = marker;
  if (everyone.length > 0) sets.set(setNames.audience(audience, generation!), everyone);
  for (const { key, devices } of keyed)
    if (key !== '') sets.set(setNames.event(audience, generation!, key), devices);
  return { slot, sets, uniqueDevices: deviceCount(everyone), pairs, filePairs };
}

function concatenate(parts: Uint8Array[]): Uint8Array {
  if (parts.length === 1) return parts[0]!;
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** first, last, first, last, … in ascending order. */
function rangesOf(ranges: number[]): (file: number) => boolean {
  return (file) => {
    let low = 0;
    let high = ranges.length / 2;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (ranges[middle * 2 + 1]! < file) low = middle + 1;
      else high = middle;
    }
    return low < ranges.length / 2 && ranges[low * 2]! <= file;
  };
}
