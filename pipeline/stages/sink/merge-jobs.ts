/**
 * Merges jobs into the device sets of some slots, acknowledges them, and only then lets the slots advance. Done again after a crash it
 * ends the same: a slot takes a job once, and an acknowledgement, once written, stays.
 */
import { Binary } from 'mongodb';
import { spaces } from '../../../schemas/documents.ts';
import type { JobMarker, ValidatedDevices } from '../../../schemas/topics.ts';
import { cutByAddress, type InRange, partOfRange, RANGES } from '../../formats/address-ranges.ts';
import type { DeviceHash } from '../../formats/device-hash.ts';
import { packCounts } from '../../formats/number-table.ts';
import { createByteBudget } from '../../runtime/byte-budget.ts';
import { inGroups, within } from '../../runtime/in-groups.ts';
import { nextTurn } from '../../runtime/loop-turn.ts';
import type { DeviceSets } from '../../sets/device-sets.ts';
import { type Devices, merge } from '../../sets/devices.ts';
import type { Ack, AckStore } from '../../stores/acks.ts';
import type { EventValueStore } from '../../stores/event-values.ts';
import type { SpillStore } from '../../stores/spills.ts';
import type { VerdictStore } from '../../stores/verdicts.ts';
import { framedIn } from '../../wire/framed-devices.ts';
import type { CommittedJobs } from './committed-jobs.ts';
import { notMerged, targetOf } from './drop-job.ts';
import { type GatheredSlot, gatherSlot, type NumberKeys } from './gather-slot.ts';
import { type SinkStep, sinkPoint } from './steps.ts';
import type { Uncommitted } from './uncommitted.ts';

interface Dependencies {
  groupBytes?: number;
  sets: Pick<DeviceSets, 'merge'>;
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
  const { sets, acks, spills, eventValues, verdicts, hashDevice, groupBytes = GROUP_BYTES } = deps;
  /** A small run does not wait for the slots of a large one. */
  const budgets = { small: createByteBudget(groupBytes), large: createByteBudget(groupBytes) };

  async function mergeSlot(run: Run, slot: number, bytes: number, step: SinkStep): Promise<Ack[]> {
    const markers = run.markers.filter(({ job }) => run.committed.isOpen(slot, job));
    const isLoad = markers[0]!.audience !== null;
    const jobsByKey = new Map<number, number>();
    const target = {
      ...targetOf(markers, slot, run.committed),
      ...(markers.length > 1 ? { jobOf: (key: number) => jobsByKey.get(key)! } : {}),
      matchIn: isLoad ? spaces.marketplace : undefined,
    };
    const counts = new Map<number, Counts>();
    const numberKeysOf = ({ job, audience, generation }: JobMarker): NumberKeys =>
      audience === null
        ? async (keys) => {
            const attributes = keys.map(Number);
            for (const key of attributes) jobsByKey.set(key, Math.max(job, jobsByKey.get(key) ?? 0));
            return attributes;
          }
        : async (keys) => {
            const numbers = await eventValues.numbersOf(audience, generation!, keys);
            return keys.map((key) => numbers.get(key) ?? 0);
          };
    const parts = () =>
      gatherParts({ ...run, markers }, slot, Math.ceil(bytes / groupBytes), counts, numberKeysOf);
    const { total, changes } = await step('merge', () => sets.merge(target, parts));
    // Merged before a crash: only the counts are missing.
    if (counts.size === 0) await step.read('count a slot', () => drain(parts()));
    return markers.map((marker): Ack => {
      const change = changes.find((one) => one.job === marker.job);
      if (change?.dropped) return notMerged(marker.job, slot, isLoad ? total : 0);
      const { filePairs, ...counted } = counts.get(marker.job)!;
      const added = isLoad
        ? { newDevices: change?.devices ?? 0, matchedDevices: change?.matched ?? 0 }
        : none;
      return {
        job: marker.job,
        slot,
        ...counted,
        filePairs: [...filePairs].flat(),
        audienceDevices: isLoad ? total : 0,
        ...added,
        ...(change && !isLoad ? { attributePairs: new Binary(packCounts(change.pairs)) } : {}),
      };
    });
  }

  /**
   * The devices of all jobs, range by range; what each job has in it is counted on the way. A range that is too large is read several
   * times, some of its addresses each time.
   */
  async function* gatherParts(
    { markers, uncommitted }: Run,
    slot: number,
    parts: number,
    counts: Map<number, Counts>,
    numberKeysOf: (marker: JobMarker) => NumberKeys,
  ): AsyncGenerator<Devices> {
    counts.clear();
    const size = Math.ceil(RANGES / Math.max(1, Math.min(parts, RANGES)));
    const passes = Math.max(1, Math.ceil(parts / RANGES));
    const held = new Map<number, Held>();
    for (const { job } of markers) {
      const messages = () => uncommitted.of(job, slot);
      const isCut = size < RANGES || uncommitted.hasSpilled(job);
      const cut = async () =>
        (await cutByAddress(messages(), hashDevice)).map((pieces) => () => framedInAll(pieces));
      held.set(job, isCut ? await cut() : [messages]);
    }
    for (let n = 0; n < Math.ceil(RANGES / size) * passes; n++) {
      const from = Math.floor(n / passes) * size;
      const where = passes > 1 ? partOfRange(from, n % passes, passes) : undefined;
      const gathered: Devices[] = [];
      for (const marker of markers) {
        const { job } = marker;
        const inMemory = inRanges(held.get(job)!, from, from + size);
        const spilled = uncommitted.hasSpilled(job) ? spills.read(job, slot, from, from + size) : [];
        const files = {
          isPassed: await verdicts.passedOf(marker),
          isCollapsed: await verdicts.collapsedOf(marker),
        };
        const ranges = both(spilled, inMemory);
        if (parts > 1) await nextTurn();
        sinkPoint('sink:before-gather', job);
        const one = await gatherSlot(marker, files, ranges, numberKeysOf(marker), hashDevice, where);
        sinkPoint('sink:after-gather', job);
        addTo(counts, job, one);
        gathered.push(one.devices);
      }
      yield merge(gathered);
    }
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

/** By range; one, if it is not cut. */
type Held = (() => Iterable<ValidatedDevices>)[];

function* inRanges(held: Held, from: number, to: number): Generator<InRange> {
  for (let range = from; range < Math.min(to, held.length); range++)
    yield { range, messages: held[range]!() };
}

function* framedInAll(pieces: Buffer[]): Generator<ValidatedDevices> {
  for (const piece of pieces) yield* framedIn(piece);
}

const none = { newDevices: 0, matchedDevices: 0 };

async function* both<T>(first: AsyncIterable<T> | Iterable<T>, second: Iterable<T>): AsyncGenerator<T> {
  yield* first;
  yield* second;
}

async function drain(parts: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of parts);
}

function addTo(counts: Map<number, Counts>, job: number, { uniqueDevices, pairs, filePairs }: Counts): void {
  const sum = counts.get(job) ?? { uniqueDevices: 0, pairs: 0, filePairs: new Map<number, number>() };
  sum.uniqueDevices += uniqueDevices;
  sum.pairs += pairs;
  for (const [file, distinct] of filePairs)
    sum.filePairs.set(file, (sum.filePairs.get(file) ?? 0) + distinct);
  counts.set(job, sum);
}
