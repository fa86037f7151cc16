/**
 * sink: one owner a partition, and so a slot. It collects the devices of jobs that are not merged yet. A job's first marker asks
 * whether the slots hold all of it: markers are in band, so everything of the job stands before them. When every slot does, the
 * second marker says to merge it. Redelivery is harmless: devices are sets, batches are known by number, and a slot takes nothing
 * of a job that it has merged. A job that cannot be checked or merged, whatever it is, is reported to dispatch, and the others go on.
 */

import { type CommitMarker, slotPartition, type ValidatedDevices } from '../../schemas/topics.ts';
import type { DeviceHash } from '../formats/device-hash.ts';
import type { Stage } from '../kafka/stage.ts';
import { countFailures, FAILURE_PAUSE_MS, MAX_FAILURES } from '../runtime/failures.ts';
import type { Logger } from '../runtime/log.ts';
import type { News } from '../runtime/news.ts';
import type { Step } from '../runtime/step.ts';
import type { Check, CheckStore } from '../stores/checks.ts';
import type { SpillStore } from '../stores/spills.ts';
import type { CommittedJobs, createReadCommitted } from './sink/committed-jobs.ts';
import type { createDropJob } from './sink/drop-job.ts';
import type { createLookAhead } from './sink/look-ahead.ts';
import type { createMergeJobs } from './sink/merge-jobs.ts';
import { createMergeQueue, type MergeQueue } from './sink/merge-queue.ts';
import type { Care, createMergeWithCare } from './sink/merge-with-care.ts';
import type { createRemoveAttributes } from './sink/remove-attributes.ts';
import { createUncommitted, type Uncommitted } from './sink/uncommitted.ts';
import type { createVerifySlots } from './sink/verify-slots.ts';

export interface SinkDependencies {
  log: Logger;
  checks: CheckStore;
  spills: SpillStore;
  readCommitted: ReturnType<typeof createReadCommitted>;
  verifySlots: ReturnType<typeof createVerifySlots>;
  lookAhead: ReturnType<typeof createLookAhead>;
  mergeJobs: ReturnType<typeof createMergeJobs>;
  removeAttributes: ReturnType<typeof createRemoveAttributes>;
  dropJob: ReturnType<typeof createDropJob>;
  mergeWithCare: ReturnType<typeof createMergeWithCare>;
  slots: number;
  hashDevice: DeviceHash;
  devicePartitions: number;
  memoryBytes: number;
  news: Pick<News, 'tell'>;
  /** How much is in memory. */
  onHeld?(bytes: number): void;
  onSpilled?(bytes: number): void;
  onMerged?(kind: CommitMarker['kind'], seconds: number): void;
}

interface OwnedPartition {
  partition: number;
  slots: number[];
  committed: CommittedJobs;
  uncommitted: Uncommitted;
  /** Jobs of which the slots were found to hold all, by attempt: what is collected is not lost while the partition is ours. */
  verified: Map<number, number>;
  /** Jobs that were given up, in this attempt. */
  failed: Map<number, { attempt: number; reason: string }>;
  care: Care;
  merges: MergeQueue;
}

type SinkStep = Step<'sink'>;

/** What waits longer for its merge is spilled: offsets must not stay behind a job that waits for an operator. */
const MAX_HELD_MS = 10 * 60_000;

export function createSinkDevices(deps: SinkDependencies): Stage<'sink'> {
  const { checks, spills } = deps;
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
    const committed = await step.read('see how far the slots are', () => deps.readCommitted(slots));
    const uncommitted = createUncommitted(
      await step.read('see what was spilled', () => spills.jobsIn(slots)),
    );
    const care = await deps.mergeWithCare(partition, own);
    const merges = createMergeQueue({
      signal: own.signal,
      pause: own.pause,
      async merge(markers) {
        const [first] = markers as [CommitMarker];
        if (!care.isSuspect(first.job)) return merge(owner, markers, own);
        await care.use(first, () => merge(owner, markers, own), own);
      },
      isAlone: ({ job }) => care.isSuspect(job),
      isInSequence: (marker) => isInSequence(owner, marker),
      onFailure: (jobs, error) => deps.log.error({ err: error, jobs, partition }, 'the merge failed'),
      async onGivenUp(marker, reason) {
        const answer = giveUp(owner, marker, reason);
        await own('answer', () => checks.record([answer])).catch(() => {});
        deps.news.tell();
      },
    });
    held.set(partition, { uncommitted, merges });
    const owner: OwnedPartition = {
      partition,
      slots,
      committed,
      uncommitted,
      verified: new Map(),
      failed: new Map(),
      care,
      merges,
    };
    return owner;
  }

  function giveUp(owner: OwnedPartition, { job, attempt }: CommitMarker, reason: string): Check {
    deps.log.error({ job, attempt, partition: owner.partition, reason }, 'giving up: it failed too often');
    owner.failed.set(job, { attempt, reason });
    return { job, attempt, partition: owner.partition, lacking: [], failure: `sink: ${reason}` };
  }

  function collect(owner: OwnedPartition, devices: ValidatedDevices, offset: bigint): void {
    const { job, slot } = devices;
    if (owner.committed.isOpen(slot, job) && !owner.merges.has(job)) owner.uncommitted.add(devices, offset);
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
    const isDue = () => isFull() || owner.uncommitted.heldForMs() > MAX_HELD_MS;
    // What is being merged will be forgotten, and must not be taken away meanwhile.
    if (isDue()) await owner.merges.idle();
    if (!isDue()) return;
    const bytes = await owner.uncommitted.spill((batch) =>
      step('spill', () => spills.save(batch, deps.hashDevice)),
    );
    deps.onSpilled?.(bytes);
    deps.log.info({ bytes }, 'devices spilled to MongoDB until their jobs are merged');
  }

  const behindOf = ({ slots, committed }: OwnedPartition, job: number) =>
    slots.filter((slot) => committed.isOpen(slot, job));

  /** Of the slots that have not merged the job, those that do not hold all of it. */
  async function lackingOf(owner: OwnedPartition, marker: CommitMarker, step: SinkStep): Promise<number[]> {
    const { job, attempt } = marker;
    if (owner.verified.get(job) === attempt) return [];
    const behind = behindOf(owner, job);
    const lacking = await deps.verifySlots(marker, behind, owner.uncommitted, step);
    if (lacking.length === 0) {
      owner.verified.set(job, attempt);
      // Not waited for. If it fails, the merge looks for itself.
      if (!owner.care.isSuspect(job)) deps.lookAhead(marker, behind, owner.uncommitted).catch(() => {});
    } else
      deps.log.warn(
        { job, attempt, slots: lacking },
        'slots are missing devices that the ledger has counted',
      );
    return lacking;
  }

  /** Whether the merges that must come before this one have been made, or are queued. */
  function isInSequence(
    { merges, committed }: OwnedPartition,
    { job, previous, after }: CommitMarker,
  ): boolean {
    const isBefore = (other: number) => other === 0 || merges.has(other) || committed.hasAll(other);
    if (isBefore(previous) && isBefore(after)) return true;
    deps.log.warn({ job, previous, after }, 'not merged yet: the marker of the previous job is missing');
    return false;
  }

  /** Merges jobs whose markers stand one after the other: several imports together, anything else alone. */
  async function merge(owner: OwnedPartition, markers: CommitMarker[], step: SinkStep): Promise<void> {
    const began = performance.now();
    const [first] = markers as [CommitMarker];
    const jobs = markers.map(({ job }) => job);
    const behind = owner.slots.filter((slot) => jobs.some((job) => owner.committed.isOpen(slot, job)));
    if (first.drop) await drop(owner, first, behind, step);
    else if (first.kind === 'delete') await deps.removeAttributes(first, behind, owner.committed, step);
    else await deps.mergeJobs({ ...owner, markers, slots: behind }, step);
    deps.news.tell();
    owner.uncommitted.forget(jobs);
    for (const job of jobs) owner.verified.delete(job);
    deps.onHeld?.(heldBytes());
    deps.onMerged?.(first.kind, (performance.now() - began) / 1_000);
  }

  async function drop(owner: OwnedPartition, marker: CommitMarker, slots: number[], step: SinkStep) {
    await deps.dropJob(marker, slots, owner.committed, step);
    if (owner.uncommitted.hasSpilled(marker.job))
      await step('forget-spills', () => spills.forget(owner.slots, [marker.job]));
  }

  /** As above, or why that cannot be found out. */
  async function findLacking(
    owner: OwnedPartition,
    marker: CommitMarker,
    step: SinkStep,
  ): Promise<number[] | { reason: string }> {
    for (const failures = countFailures(); ; ) {
      try {
        return await lackingOf(owner, marker, step);
      } catch (error) {
        step.signal.throwIfAborted();
        failures.add(error);
        const { count, reason } = failures;
        deps.log.error({ err: error, job: marker.job, failures: count }, 'checking a job failed');
        if (count === MAX_FAILURES) return { reason };
        await step.pause(FAILURE_PAUSE_MS * count);
      }
    }
  }

  /** Gives the answer to a check, or to a marker whose job cannot be merged yet. */
  async function takeMarker(
    owner: OwnedPartition,
    marker: CommitMarker,
    offset: bigint,
    step: SinkStep,
  ): Promise<Check[]> {
    const { job, attempt, check } = marker;
    const { partition } = owner;
    // A repetition by a dispatcher that took over.
    if (!check) owner.merges.renew(marker);
    if (owner.merges.has(job) || owner.committed.hasAll(job)) return [];
    if (owner.committed.isGivenUp(job, attempt)) return [];
    const failed = owner.failed.get(job);
    if (failed?.attempt === attempt)
      return [{ job, attempt, partition, lacking: [], failure: `sink: ${failed.reason}` }];
    if (!check && !isInSequence(owner, marker)) return [];
    const lacking = marker.drop ? [] : await findLacking(owner, marker, step);
    if (!Array.isArray(lacking)) return [giveUp(owner, marker, lacking.reason)];
    if (check || lacking.length > 0) return [{ job, attempt, partition, lacking }];
    owner.failed.delete(job);
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
      await step('answer', () => checks.record(answers));
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
