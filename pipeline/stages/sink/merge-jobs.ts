/**
 * Merges jobs into the device sets of some slots, acknowledges them, and only then lets the slots advance. Done again after a crash it
 * ends the same: a slot takes a job once, and an acknowledgement, once written, stays.
 */
import { Binary } from 'mongodb';
import { spaces } from '../../../schemas/documents.ts';
import type { JobMarker } from '../../../schemas/topics.ts';
import type { DeviceHash } from '../../formats/device-hash.ts';
import { packCounts } from '../../formats/number-table.ts';
import { createByteBudget } from '../../runtime/byte-budget.ts';
import { inGroups, within } from '../../runtime/in-groups.ts';
import type { DeviceSets } from '../../sets/device-sets.ts';
import { packSuppressed } from '../../sets/edit-slot.ts';
import type { Ack, AckStore } from '../../stores/acks.ts';
import type { EventValueStore } from '../../stores/event-values.ts';
import type { SpillStore } from '../../stores/spills.ts';
import type { VerdictStore } from '../../stores/verdicts.ts';
import type { CommittedJobs } from './committed-jobs.ts';
import { notMerged, targetOf } from './drop-job.ts';
import { createGatherParts } from './gather-parts.ts';
import type { GatheredSlot, NumberKeys, SuppressedAmong } from './gather-slot.ts';
import type { SinkStep } from './steps.ts';
import type { Uncommitted } from './uncommitted.ts';

interface Dependencies {
  groupBytes?: number;
  sets: Pick<DeviceSets, 'merge' | 'suppressedAmong'>;
  acks: Pick<AckStore, 'recordAndAdvance'>;
  spills: SpillStore;
  eventValues: Pick<EventValueStore, 'numbersOf'>;
  verdicts: Pick<VerdictStore, 'passedOf' | 'collapsedOf'>;
  hashDevice: DeviceHash;
}

/** Jobs to merge, in their order: several imports, or one audience's load. */
export interface Run {
  markers: JobMarker[];
  /** Slots that have not merged all of them. */
  slots: number[];
  committed: CommittedJobs;
  uncommitted: Uncommitted;
}

/**
 * Slots are merged together, and partitions at the same time, up to this much: round trips are what many small jobs cost, memory
 * (several times this, for copies on the way to MongoDB) what a large one does.
 */
export const GROUP_BYTES = 8_000_000;

/** Of a run, in one partition. A larger one takes longer for other reasons than round trips. */
export const SMALL_BYTES = 1_000_000;

type Counts = Omit<GatheredSlot, 'devices'>;

export function createMergeJobs(deps: Dependencies) {
  const { sets, acks, spills, eventValues, groupBytes = GROUP_BYTES } = deps;
  const gatherParts = createGatherParts(deps);
  const suppressedIn =
    (slot: number) =>
    ({ partner }: JobMarker): SuppressedAmong =>
    (devices) =>
      sets.suppressedAmong(partner, slot, devices);
  /** A small run does not wait for the slots of a large one. */
  const budgets = { small: createByteBudget(groupBytes), large: createByteBudget(groupBytes) };

  async function mergeSlot(run: Run, slot: number, bytes: number, step: SinkStep): Promise<Ack[]> {
    const markers = run.markers.filter(({ job }) => run.committed.isOpen(slot, job));
    const isLoad = markers[0]!.audience !== null;
    const jobsByKey = { first: new Map<number, number>(), last: new Map<number, number>() };
    const counts = new Map<number, Counts>();
    const target = {
      ...targetOf(markers, slot, run.committed),
      ...(markers.length > 1
        ? {
            jobOf: (key: number) => jobsByKey.last.get(key)!,
            firstJobOf: (key: number) => jobsByKey.first.get(key)!,
          }
        : {}),
      matchIn: isLoad ? spaces.marketplace : undefined,
      suppressedOf: (job: number) => counts.get(job)?.suppressed,
    };
    const numberKeysOf = ({ job, audience, generation }: JobMarker): NumberKeys =>
      audience === null
        ? async (keys) => {
            const attributes = keys.map(Number);
            for (const key of attributes) {
              jobsByKey.first.set(key, Math.min(job, jobsByKey.first.get(key) ?? job));
              jobsByKey.last.set(key, Math.max(job, jobsByKey.last.get(key) ?? job));
            }
            return attributes;
          }
        : async (keys) => {
            const numbers = await eventValues.numbersOf(audience, generation!, keys);
            return keys.map((key) => numbers.get(key) ?? 0);
          };
    const parts = (isMerged: boolean) => {
      counts.clear();
      return gatherParts({
        ...{ markers, uncommitted: run.uncommitted, slot, numberKeysOf },
        parts: Math.ceil(bytes / groupBytes),
        onGathered: (job, gathered) => addTo(counts, job, gathered),
        // Asked in each attempt at the merge, behind the manifest that it replaces.
        ...(isMerged ? {} : { suppressedOf: suppressedIn(slot) }),
      });
    };
    const { total, changes } = await step('merge', () => sets.merge(target, () => parts(false)));
    // Merged before a crash: only the counts are missing. What was left out then is in the manifest.
    const isMerged = counts.size === 0;
    if (isMerged) await step.read('count a slot', () => drain(parts(true)));
    return markers.map((marker): Ack => {
      const change = changes.find((one) => one.job === marker.job);
      if (change?.dropped) return notMerged(marker.job, slot, isLoad ? total : 0);
      const { filePairs, uniqueDevices, pairs, ...counted } = counts.get(marker.job)!;
      const suppressed = isMerged ? change?.suppressed : counted.suppressed;
      const added = isLoad
        ? { newDevices: change?.devices ?? 0, matchedDevices: change?.matched ?? 0 }
        : none;
      return {
        job: marker.job,
        slot,
        uniqueDevices: uniqueDevices - (suppressed?.devices ?? 0),
        pairs,
        filePairs: [...filePairs].flat(),
        ...packSuppressed(suppressed),
        audienceDevices: isLoad ? total : 0,
        ...added,
        ...(change && !isLoad ? { attributePairs: new Binary(packCounts(change.pairs)) } : {}),
      };
    });
  }

  /** What could be merged is acknowledged, whatever became of the rest. */
  async function mergeSlots(run: Run, some: number[], bytesOf: (slot: number) => number, step: SinkStep) {
    const merging = some.map((slot) => mergeSlot(run, slot, bytesOf(slot), step));
    const settled = await Promise.allSettled(merging);
    const merged = some.filter((_, i) => settled[i]!.status === 'fulfilled');
    const entries = settled.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
    if (entries.length > 0) await step('ack', () => acks.recordAndAdvance(entries));
    const jobs = run.markers.map(({ job }) => job);
    for (const slot of merged) {
      run.committed.add(slot, jobs);
      run.uncommitted.forgetSlot(slot, jobs);
    }
    await Promise.all(merging);
  }

  return async (run: Run, step: SinkStep): Promise<void> => {
    const { markers, slots, uncommitted } = run;
    const spilled = markers.filter(({ job }) => uncommitted.hasSpilled(job)).map(({ job }) => job);
    const spilledBytes = await sizesOf(spilled, slots, step);
    const sizeOf = (slot: number) =>
      markers.reduce((sum, { job }) => sum + uncommitted.bytesOf(job, slot), spilledBytes.get(slot) ?? 0);
    const total = slots.reduce((sum, slot) => sum + sizeOf(slot), 0);
    for (const some of inGroups(slots, within({ bytes: groupBytes }, sizeOf))) {
      const bytes = some.reduce((sum, slot) => sum + sizeOf(slot), 0);
      const budget = total <= SMALL_BYTES ? budgets.small : budgets.large;
      await budget.use(Math.min(bytes, groupBytes), () => mergeSlots(run, some, sizeOf, step));
    }
    if (spilled.length > 0) await step('forget-spills', () => spills.forget(slots, spilled));
  };

  async function sizesOf(spilled: number[], slots: number[], step: SinkStep): Promise<Map<number, number>> {
    if (spilled.length === 0) return new Map();
    return step.read('see what was spilled', () => spills.sizes(spilled, slots));
  }
}

const none = { newDevices: 0, matchedDevices: 0 };

async function drain(parts: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of parts);
}

function addTo(
  counts: Map<number, Counts>,
  job: number,
  { uniqueDevices, pairs, filePairs, suppressed }: Counts,
): void {
  const sum = counts.get(job) ?? {
    uniqueDevices: 0,
    pairs: 0,
    filePairs: new Map<number, number>(),
    suppressed: undefined,
  };
  sum.uniqueDevices += uniqueDevices;
  sum.pairs += pairs;
  addCounts(sum.filePairs, filePairs);
  if (suppressed) {
    sum.suppressed ??= { devices: 0, byFile: new Map() };
    sum.suppressed.devices += suppressed.devices;
    addCounts(sum.suppressed.byFile, suppressed.byFile);
  }
  counts.set(job, sum);
}

function addCounts(sums: Map<number, number>, counts: ReadonlyMap<number, number>): void {
  for (const [file, count] of counts) sums.set(file, (sums.get(file) ?? 0) + count);
}
