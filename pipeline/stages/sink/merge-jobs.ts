/**
 * Merges jobs into the device sets of some slots, acknowledges them, and only then advances the slots. Idempotent: a slot merges a job
 * once, and an ack, once written, stays.
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
  sets: Pick<DeviceSets, 'merge' | 'suppressedAmong' | 'suppressionLists'>;
  acks: Pick<AckStore, 'recordAndAdvance'>;
  spills: SpillStore;
  eventValues: Pick<EventValueStore, 'numbersOf'>;
  verdicts: Pick<VerdictStore, 'passedOf' | 'collapsedOf'>;
  hashDevice: DeviceHash;
}

/** Jobs to merge, in order: several imports, or one load of an audience. */
export interface Run {
  markers: JobMarker[];
  /** Slots that have not merged all of the jobs. */
  slots: number[];
  committed: CommittedJobs;
  uncommitted: Uncommitted;
}

/**
 * Slots and partitions are merged concurrently up to this many bytes. Small jobs are bound by round trips; large ones by memory, of which
 * copies on the way to MongoDB take several times this much.
 */
export const GROUP_BYTES = 8_000_000;

/**
 * A slot that exceeds a group is merged in parts of at most half of it, one at a time. Smaller parts take less memory, but leave smaller
 * regions, so that manifests grow.
 */
export const PARTS_A_GROUP = 2;

/** A larger run, in one partition, is not bound by round trips. */
export const SMALL_BYTES = 1_000_000;

type Counts = Omit<GatheredSlot, 'devices'>;

export function createMergeJobs(deps: Dependencies) {
  const { sets, acks, spills, eventValues, groupBytes = GROUP_BYTES } = deps;
  const gatherParts = createGatherParts(deps);
  /** Of one attempt at a merge, which has read the manifest that it replaces: reads the lists in use once for all of its jobs. */
  function suppressedIn(slot: number) {
    const inUse = new Map<string, Promise<string[]>>();
    function listsOf(partner: string): Promise<string[]> {
      const lists = inUse.get(partner) ?? sets.suppressionLists(partner);
      inUse.set(partner, lists);
      return lists;
    }
    return ({ partner }: JobMarker): SuppressedAmong =>
      (devices) =>
        sets.suppressedAmong(partner, slot, devices, listsOf);
  }
  /** Separate, so that a small run does not wait for a large one. */
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
      // Nothing is new, or all of it is suppressed: until a deletion removes it, or the devices are restored.
      isRecorded: () => [...counts.values()].some(({ uniqueDevices }) => uniqueDevices > 0),
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
        parts: bytes <= groupBytes ? 1 : 2 ** Math.ceil(Math.log2((PARTS_A_GROUP * bytes) / groupBytes)),
        onGathered: (job, gathered) => addTo(counts, job, gathered),
        // Looked up in each attempt at the merge, after reading the manifest that it replaces.
        ...(isMerged ? {} : { suppressedOf: suppressedIn(slot) }),
      });
    };
    const { total, changes } = await step('merge', () => sets.merge(target, () => parts(false)));
    // Merged before a crash: only the counts are missing. The manifest has the suppressed devices.
    const isMerged = counts.size === 0;
    if (isMerged) await step.read('count a slot', () => drain(parts(true)));
    return markers.map((marker): Ack => {
      const change = changes.find(({ job }) => job === marker.job);
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

  /** Acknowledges the slots that succeed, even if others fail. */
  async function mergeSlots(run: Run, slots: number[], bytesOf: (slot: number) => number, step: SinkStep) {
    const merging = slots.map((slot) => mergeSlot(run, slot, bytesOf(slot), step));
    const settled = await Promise.allSettled(merging);
    const merged = slots.filter((_, i) => settled[i]!.status === 'fulfilled');
    const entries = settled.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
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
    for (const group of inGroups(slots, within({ bytes: groupBytes }, sizeOf))) {
      const bytes = group.reduce((sum, slot) => sum + sizeOf(slot), 0);
      const budget = total <= SMALL_BYTES ? budgets.small : budgets.large;
      await budget.use(bytes, () => mergeSlots(run, group, sizeOf, step));
    }
    if (spilled.length > 0) await step('forget-spills', () => spills.forget(slots, spilled));
  };

  async function sizesOf(spilled: number[], slots: number[], step: SinkStep): Promise<Map<number, number>> {
    if (spilled.length === 0) return new Map();
    return step.read('read spill sizes', () => spills.sizes(spilled, slots));
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
