/**
 * Merges jobs into the device sets of some slots, acknowledges them, and only then lets the slots advance. Done again after a
 * crash it ends the same: sets do not change when merged twice, and an acknowledgement, once written, stays.
 */
import { setNames } from '../../../schemas/documents.ts';
import type { CommitMarker } from '../../../schemas/topics.ts';
import { createByteBudget } from '../../runtime/byte-budget.ts';
import { inGroups, within } from '../../runtime/in-groups.ts';
import type { Step } from '../../runtime/step.ts';
import type { DeviceSets } from '../../sets/device-sets.ts';
import { union } from '../../sets/packed.ts';
import type { Ack, AckStore } from '../../stores/acks.ts';
import type { SpillStore } from '../../stores/spills.ts';
import { type GatheredSlot, gatherSlot } from './gather-slot.ts';
import { createSample, everything, type KeyRange } from './key-ranges.ts';
import type { Uncommitted } from './uncommitted.ts';
import { collectedOf } from './verify-slots.ts';

interface Dependencies {
  /** Slots are merged together, and partitions at the same time, up to this much. */
  groupBytes?: number;
  sets: Pick<DeviceSets, 'add' | 'overlap'>;
  acks: AckStore;
  spills: SpillStore;
}

type SinkStep = Step<'sink'>;

/** Jobs to merge, in their order: several imports, or one audience's load. */
export interface Run {
  markers: CommitMarker[];
  /** Slots that have not merged all of them. */
  slots: number[];
  /** The last job that a slot has merged. */
  committed: ReadonlyMap<number, number>;
  uncommitted: Uncommitted;
}

/**
 * Slots are merged together, and partitions at the same time, up to this much: round trips are what many small jobs cost, memory
 * (several times this, for copies on the way to MongoDB) what a large one does.
 */
export const GROUP_BYTES = 8_000_000;

export function createMergeJobs({ sets, acks, spills, groupBytes = GROUP_BYTES }: Dependencies) {
  const budget = createByteBudget(groupBytes);

  async function mergeSlots(run: Run, slots: number[], bytes: number, step: SinkStep): Promise<void> {
    const { markers, committed, uncommitted } = run;
    // Ours as long as nobody has taken the slots further than we know.
    const stillOurs = async () => {
      const now = await acks.committedJobs(slots);
      return slots.every((slot) => now.get(slot) === committed.get(slot));
    };
    const totals = new Map<string, GatheredSlot>();
    const times = Math.ceil(bytes / groupBytes);
    for (const range of times > 1 ? await cutIntoRanges(run, slots, times, step) : [everything]) {
      const gathered: GatheredSlot[] = [];
      for (const slot of slots) gathered.push(...(await gatherAll(run, slot, range, step)));
      await step('merge', () => sets.add(additionsOf(gathered), stillOurs));
      for (const one of gathered) addTo(totals, one);
    }
    const entries = await Promise.all([...totals.values()].map((one) => entryOf(one, markers[0]!, step)));
    await step('ack', () => acks.recordAndAdvance(entries));
    for (const slot of slots) uncommitted.forgetSlot(slot, markers.at(-1)!.job);
  }

  function cutIntoRanges(
    { markers, uncommitted }: Run,
    slots: number[],
    count: number,
    step: SinkStep,
  ): Promise<KeyRange[]> {
    const takeSample = async () => {
      const sample = createSample(groupBytes);
      for (const slot of slots) {
        for (const { job } of markers) {
          for await (const { groups } of collectedOf(spills, uncommitted, job, slot))
            for (const { devices } of groups) sample.add(devices);
        }
      }
      return sample.ranges(count);
    };
    return step.read('sample a slot', takeSample);
  }

  /** What each job of the run has in the slot and range. */
  async function gatherAll(
    { markers, committed, uncommitted }: Run,
    slot: number,
    range: KeyRange,
    step: SinkStep,
  ): Promise<GatheredSlot[]> {
    const gathered: GatheredSlot[] = [];
    for (const marker of markers) {
      if (marker.job <= committed.get(slot)!) continue;
      const gather = async () => {
        const gathering = gatherSlot(marker, slot, range);
        for await (const message of collectedOf(spills, uncommitted, marker.job, slot))
          gathering.add(message);
        return gathering.finish();
      };
      gathered.push(await step.read('gather a slot', gather));
    }
    return gathered;
  }

  async function entryOf(
    { job, slot, uniqueDevices, pairs, filePairs }: GatheredSlot,
    marker: CommitMarker,
    step: SinkStep,
  ): Promise<Ack> {
    let overlap = { devices: 0, matched: 0 };
    if (marker.audience !== null) {
      const audience = setNames.audience(marker.audience, marker.generation!);
      overlap = await step.read('overlap with the attributes', () => sets.overlap(audience, slot));
    }
    return {
      job,
      slot,
      uniqueDevices,
      pairs,
      filePairs,
      audienceDevices: overlap.devices,
      newDevices: 0,
      matchedDevices: overlap.matched,
    };
  }

  return async (run: Run, step: SinkStep): Promise<void> => {
    const { markers, slots, uncommitted } = run;
    const spilled = markers.filter(({ job }) => uncommitted.hasSpilled(job)).map(({ job }) => job);
    const spilledBytes = await sizesOf(spilled, slots, step);
    const sizeOf = (slot: number) =>
      markers.reduce((sum, { job }) => sum + uncommitted.bytesOf(job, slot), spilledBytes.get(slot) ?? 0);
    for (const some of inGroups(slots, within({ bytes: groupBytes }, sizeOf))) {
      const bytes = some.reduce((sum, slot) => sum + sizeOf(slot), 0);
      await budget.use(Math.min(bytes, groupBytes), () => mergeSlots(run, some, bytes, step));
    }
    if (spilled.length > 0) await step('forget-spills', () => spills.forget(slots, Math.max(...spilled)));
  };

  async function sizesOf(spilled: number[], slots: number[], step: SinkStep): Promise<Map<number, number>> {
    if (spilled.length === 0) return new Map();
    return step.read('see what was spilled', () => spills.sizes(spilled, slots));
  }
}

/** The sets themselves are merged by now; what is left are the numbers. */
function addTo(totals: Map<string, GatheredSlot>, one: GatheredSlot): void {
  const name = `${one.job}.${one.slot}`;
  const before = totals.get(name);
  totals.set(name, {
    ...one,
    sets: new Map(),
    uniqueDevices: one.uniqueDevices + (before?.uniqueDevices ?? 0),
    pairs: one.pairs + (before?.pairs ?? 0),
    filePairs: before ? sumByFile(before.filePairs, one.filePairs) : one.filePairs,
  });
}

/** file, pairs, file, pairs, … */
function sumByFile(a: number[], b: number[]): number[] {
  const sums = new Map<number, number>();
  for (const list of [a, b]) {
    for (let i = 0; i < list.length; i += 2) sums.set(list[i]!, (sums.get(list[i]!) ?? 0) + list[i + 1]!);
  }
  return [...sums].flat();
}

/** Several jobs of the run may add to one set. */
function additionsOf(gathered: GatheredSlot[]): { set: string; slot: number; devices: Uint8Array }[] {
  const parts = new Map<string, { set: string; slot: number; devices: Uint8Array[] }>();
  for (const { slot, sets } of gathered) {
    for (const [set, devices] of sets) {
      const known = parts.get(`${slot} ${set}`);
      if (known) known.devices.push(devices);
      else parts.set(`${slot} ${set}`, { set, slot, devices: [devices] });
    }
  }
  return [...parts.values()].map(({ set, slot, devices }) => ({ set, slot, devices: union(devices) }));
}
