/**
 * sink: one owner a partition, and so a slot. It collects the devices of jobs that are not merged yet. A job's first marker asks
 * whether the slots hold all of it: markers are in band, so everything of the job stands before them. When every slot does, the
 * second marker says to merge it. Redelivery is harmless: devices are sets, batches are known by number, and a slot takes nothing
 * of a job that it has merged.
 */

import { type CommitMarker, slotPartition, type ValidatedDevices } from '../../schemas/topics.ts';
import type { DeviceHash } from '../formats/device-hash.ts';
import type { Stage } from '../kafka/stage.ts';
import type { Logger } from '../runtime/log.ts';
import type { News } from '../runtime/news.ts';
import type { Step } from '../runtime/step.ts';
import type { AckStore } from '../stores/acks.ts';
import type { Check, CheckStore } from '../stores/checks.ts';
import type { SpillStore } from '../stores/spills.ts';
import type { createLookAhead } from './sink/look-ahead.ts';
import type { createMergeJobs } from './sink/merge-jobs.ts';
import { createMergeQueue, type MergeQueue } from './sink/merge-queue.ts';
import type { createRemoveAttributes } from './sink/remove-attributes.ts';
import { createUncommitted, type Uncommitted } from './sink/uncommitted.ts';
import type { createVerifySlots } from './sink/verify-slots.ts';

export interface SinkDependencies {
  log: Logger;
  acks: AckStore;
  checks: CheckStore;
  spills: SpillStore;
  verifySlots: ReturnType<typeof createVerifySlots>;
  lookAhead: ReturnType<typeof createLookAhead>;
  mergeJobs: ReturnType<typeof createMergeJobs>;
  removeAttributes: ReturnType<typeof createRemoveAttributes>;
  slots: number;
  hashDevice: DeviceHash;
  devicePartitions: number;
  memoryBytes: number;
  news: Pick<News, 'tell'>;
  /** How much is in memory. */
  onHeld?(bytes: number): void;
  onSpilled?(bytes: number): void;
  onMerged?(kind: CommitMarker['kind'], seconds: number): void;
  onFatal(error: unknown): void;
}

interface OwnedPartition {
  partition: number;
  slots: number[];
  /** The last job merged, by slot. */
  committed: Map<number, number>;
  uncommitted: Uncommitted;
  /** Jobs of which the slots were found to hold all, by attempt: what is collected is not lost while the partition is ours. */
  verified: Map<number, number>;
  merges: MergeQueue;
}

type SinkStep = Step<'sink'>;

export function createSinkDevices(deps: SinkDependencies): Stage<'sink'> {
  const { acks, spills } = deps;
  let owned = new Map<number, Promise<OwnedPartition>>();
  let held = new Map<number, Pick<OwnedPartition, 'uncommitted' | 'merges'>>();
  /** Ends with the assignment, and merges with it. */
  let assignment: SinkStep;

  function own(partition: number, step: SinkStep): Promise<OwnedPartition> {
    const known = owned.get(partition);
    if (known) return known;
    const slots = Array.from({ length: deps.slots }, (_, slot) => slot).filter(
      (slot) => slotPartition(slot, deps.devicePartitions) === partition,
    );
    const taking = take(partition, slots, step);
    owned.set(partition, taking);
    taking.catch(() => owned.delete(partition));
    return taking;
  }

  async function take(partition: number, slots: number[], step: SinkStep): Promise<OwnedPartition> {
    const own = assignment;
    const committed = await step.read('see how far the slots are', () => acks.committedJobs(slots));
    const uncommitted = createUncommitted(
      await step.read('see what was spilled', () => spills.jobsIn(slots)),
    );
    const merges = createMergeQueue(
      (markers) => merge(owner, markers, own),
      (error) => {
        if (!own.signal.aborted) deps.onFatal(error);
      },
    );
    held.set(partition, { uncommitted, merges });
    const owner = { partition, slots, committed, uncommitted, verified: new Map(), merges };
    return owner;
  }

  function collect(owner: OwnedPartition, devices: ValidatedDevices, offset: bigint): void {
    const committed = owner.committed.get(devices.slot);
    if (committed === undefined || devices.job <= Math.max(committed, owner.merges.lastJob())) return;
    owner.uncommitted.add(devices, offset);
  }

  const heldBytes = () => {
    let total = 0;
    for (const { uncommitted } of held.values()) total += uncommitted.bytes;
    return total;
  };

  async function spillIfFull(owner: OwnedPartition, step: SinkStep): Promise<void> {
    const isFull = () => {
      const total = heldBytes();
      // A small share is not worth a write: the partition that holds most spills with its own next message.
      return total >= deps.memoryBytes && owner.uncommitted.bytes * held.size * 2 >= total;
    };
    // What is being merged will be forgotten, and must not be taken away meanwhile.
    if (isFull()) await owner.merges.idle();
    if (!isFull()) return;
    const bytes = await owner.uncommitted.spill((batch) =>
      step('spill', () => spills.save(batch, deps.hashDevice)),
    );
    deps.onSpilled?.(bytes);
    deps.log.info({ bytes }, 'devices spilled to MongoDB until their jobs are merged');
  }

  /** Of the slots that have not merged the job, those that do not hold all of it. */
  async function lackingOf(owner: OwnedPartition, marker: CommitMarker, step: SinkStep): Promise<number[]> {
    const { job, attempt } = marker;
    if (owner.verified.get(job) === attempt) return [];
    const behind = owner.slots.filter((slot) => job > owner.committed.get(slot)!);
    const lacking = await deps.verifySlots(marker, behind, owner.uncommitted, step);
    if (lacking.length === 0) {
      owner.verified.set(job, attempt);
      // Not waited for. If it fails, the merge looks for itself.
      deps.lookAhead(marker, behind, owner.uncommitted).catch(() => {});
    } else
      deps.log.warn(
        { job, attempt, slots: lacking },
        'slots are missing devices that the ledger has counted',
      );
    return lacking;
  }

  /** Whether the merge that must come before this one has been made, or is queued. */
  function isInSequence(owner: OwnedPartition, { job, previous }: CommitMarker): boolean {
    if (previous <= owner.merges.lastJob()) return true;
    if (owner.slots.every((slot) => owner.committed.get(slot)! >= previous)) return true;
    deps.log.warn({ job, previous }, 'not merged yet: the marker of the previous job is missing');
    return false;
  }

  /** Merges jobs whose markers stand one after the other: several imports together, anything else alone. */
  async function merge(owner: OwnedPartition, markers: CommitMarker[], step: SinkStep): Promise<void> {
    const began = performance.now();
    const last = markers.at(-1)!.job;
    const behind = owner.slots.filter((slot) => last > owner.committed.get(slot)!);
    if (markers[0]!.kind === 'delete')
      await deps.removeAttributes(markers[0]!, behind, owner.committed, step);
    else await deps.mergeJobs({ ...owner, markers, slots: behind }, step);
    deps.news.tell();
    for (const slot of behind) owner.committed.set(slot, last);
    owner.uncommitted.forgetUpTo(last);
    deps.onHeld?.(heldBytes());
    deps.onMerged?.(markers[0]!.kind, (performance.now() - began) / 1_000);
    for (const job of owner.verified.keys()) if (job <= last) owner.verified.delete(job);
  }

  /** Gives the answer to a check, or to a marker whose job cannot be merged yet. */
  async function takeMarker(
    owner: OwnedPartition,
    marker: CommitMarker,
    offset: bigint,
    step: SinkStep,
  ): Promise<Check[]> {
    const { job, attempt, check } = marker;
    // Jobs are merged in their order, so one that is not behind the last is a repetition by a dispatcher that took over.
    const isRepeated = job <= owner.merges.lastJob();
    if (isRepeated || owner.slots.every((slot) => job <= owner.committed.get(slot)!)) return [];
    if (!check && !isInSequence(owner, marker)) return [];
    const lacking = await lackingOf(owner, marker, step);
    if (check || lacking.length > 0) return [{ job, attempt, partition: owner.partition, lacking }];
    const bytes = owner.slots.reduce((sum, slot) => sum + owner.uncommitted.bytesOf(job, slot), 0);
    owner.merges.add({ marker, offset, bytes });
    return [];
  }

  return {
    name: 'sink',
    input: 'devices',
    async handleAll(partition, deliveries, step) {
      const owner = await own(partition, step);
      const answers: Check[] = [];
      for (const { offset, message } of deliveries) {
        if (message.name === 'ValidatedDevices') {
          collect(owner, message.value, offset);
          await spillIfFull(owner, step);
        } else if (message.name === 'CommitMarker')
          answers.push(...(await takeMarker(owner, message.value, offset, step)));
      }
      deps.onHeld?.(heldBytes());
      if (answers.length === 0) return;
      await step('answer', () => deps.checks.record(answers));
      deps.news.tell();
    },
    /** What is only in memory must be read again after a crash, and so must the markers of jobs that are not merged. */
    committable(partition, handled) {
      const { uncommitted, merges } = held.get(partition) ?? {};
      const oldest = [uncommitted?.oldestOffset(), merges?.oldestOffset()];
      return oldest.reduce<bigint>((least, one) => (one !== undefined && one < least ? one : least), handled);
    },
    assigned(_, step) {
      assignment = step;
      owned = new Map();
      held = new Map();
      deps.onHeld?.(0);
    },
  };
}
