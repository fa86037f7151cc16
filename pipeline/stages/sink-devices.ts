/**
 * sink: a participant of two-phase commit, one owner per partition and its slots. It collects the devices of uncommitted jobs. At a prepare
 * marker it votes on whether its slots hold the whole job: markers are in band, so all devices of the job precede them. At a commit marker
 * it merges the job. Redelivery is harmless: devices are sets, batches are numbered, and a slot ignores devices of a job that it has
 * committed. A failure to vote or to commit is reported to dispatch, and other jobs continue.
 */

import { type JobMarker, slotPartition, type ValidatedDevices } from '../../schemas/topics.ts';
import { countFailures, FAILURE_PAUSE_MS, MAX_FAILURES } from '../engine/failures.ts';
import type { Stage } from '../engine/stage.ts';
import type { Notifier } from '../runtime/notifier.ts';
import type { SpillStore } from '../stores/spills.ts';
import type { Vote, VoteStore } from '../stores/votes.ts';
import type { CommittedJobs, createReadCommitted } from './sink/committed-jobs.ts';
import type { createDropJob } from './sink/drop-job.ts';
import {
  createSinkMemory,
  type HeldDevices,
  type MemoryDependencies,
  type SinkMemory,
} from './sink/limit-memory.ts';
import type { createLookAhead } from './sink/look-ahead.ts';
import { type createMergeJobs, SMALL_BYTES } from './sink/merge-jobs.ts';
import { createMergeQueue, type MergeQueue } from './sink/merge-queue.ts';
import type { Care, createMergeWithCare } from './sink/merge-with-care.ts';
import type { createRemoveAttributes } from './sink/remove-attributes.ts';
import type { createServeRequest } from './sink/serve-request.ts';
import type { SinkStep, SinkStepName } from './sink/steps.ts';
import { createUncommitted, type Uncommitted } from './sink/uncommitted.ts';
import type { createVerifySlots } from './sink/verify-slots.ts';

export interface SinkDependencies extends MemoryDependencies {
  votes: VoteStore;
  spills: SpillStore;
  readCommitted: ReturnType<typeof createReadCommitted>;
  verifySlots: ReturnType<typeof createVerifySlots>;
  lookAhead: ReturnType<typeof createLookAhead>;
  mergeJobs: ReturnType<typeof createMergeJobs>;
  removeAttributes: ReturnType<typeof createRemoveAttributes>;
  serveRequest: ReturnType<typeof createServeRequest>;
  dropJob: ReturnType<typeof createDropJob>;
  mergeWithCare: ReturnType<typeof createMergeWithCare>;
  slots: number;
  devicePartitions: number;
  notifier: Pick<Notifier, 'notify'>;
  /** Bytes in memory. */
  onHeld(bytes: number): void;
  onMerged(kind: JobMarker['kind'], seconds: number): void;
}

interface OwnedPartition {
  partition: number;
  slots: number[];
  /** Lasts as long as the assignment, as merges do. */
  step: SinkStep;
  committed: CommittedJobs;
  uncommitted: Uncommitted;
  held: HeldDevices;
  /** Attempt by job, for jobs that the slots hold completely. This stays true until the partition is revoked. */
  verified: Map<number, number>;
  /** Large jobs being verified. */
  verifying: Set<number>;
  /** Jobs that were given up, and in which attempt. */
  failed: Map<number, { attempt: number; reason: string }>;
  care: Care;
  merges: MergeQueue;
}

interface Assignment {
  step: SinkStep;
  memory: SinkMemory;
  owned: Map<number, Promise<OwnedPartition>>;
  /** Those that could be taken. */
  taken: Map<number, OwnedPartition>;
}

export function createSinkDevices(deps: SinkDependencies): Stage<SinkStepName> {
  const { votes, spills } = deps;
  let assignment: Assignment;

  function own(partition: number, step: SinkStep): Promise<OwnedPartition> {
    const { owned } = assignment;
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
    const { memory, taken, step: lasting } = assignment;
    const committed = await step.read('read committed jobs', () => deps.readCommitted(slots));
    const uncommitted = createUncommitted(await step.read('read spilled jobs', () => spills.jobsIn(slots)));
    const care = await deps.mergeWithCare(partition, lasting);
    const merges = createMergeQueue({
      signal: lasting.signal,
      pause: lasting.pause,
      async merge(markers) {
        const [first] = markers as [JobMarker];
        if (!care.isSuspect(first.job)) return merge(owner, markers, lasting);
        await care.use(first, () => merge(owner, markers, lasting), lasting);
      },
      isAlone: ({ job }) => care.isSuspect(job),
      isInSequence: (marker) => isInSequence(owner, marker),
      onFailure: (jobs, error) => deps.log.error({ err: error, jobs, partition }, 'the merge failed'),
      async onGivenUp(marker, reason) {
        const vote = giveUp(owner, marker, reason);
        await lasting('vote', () => votes.record([vote])).catch(() => {});
        deps.notifier.notify();
      },
    });
    const verifying = new Set<number>();
    const owner: OwnedPartition = {
      partition,
      slots,
      step: lasting,
      committed,
      uncommitted,
      held: memory.hold(uncommitted, (job) => merges.isMerging(job) || verifying.has(job)),
      verified: new Map(),
      verifying,
      failed: new Map(),
      care,
      merges,
    };
    taken.set(partition, owner);
    return owner;
  }

  function giveUp(owner: OwnedPartition, { job, attempt }: JobMarker, reason: string): Vote {
    deps.log.error(
      { job, attempt, partition: owner.partition, reason },
      'giving up on the job: it failed too often',
    );
    owner.failed.set(job, { attempt, reason });
    return { job, attempt, partition: owner.partition, missing: [], failure: `sink: ${reason}` };
  }

  function collect(owner: OwnedPartition, devices: ValidatedDevices, offset: bigint): void {
    const { job, slot } = devices;
    if (owner.committed.isOpen(slot, job) && !owner.merges.has(job)) owner.uncommitted.add(devices, offset);
  }

  const behindOf = ({ slots, committed }: OwnedPartition, job: number) =>
    slots.filter((slot) => committed.isOpen(slot, job));

  /** Slots that have not committed the job and lack some of its devices. */
  async function missingFrom(owner: OwnedPartition, marker: JobMarker, step: SinkStep): Promise<number[]> {
    const { job, attempt } = marker;
    if (owner.verified.get(job) === attempt) return [];
    await owner.held.untilReadable([job], step.signal);
    const behind = behindOf(owner, job);
    const missing = await deps.verifySlots(marker, behind, owner.uncommitted, step);
    if (missing.length === 0) {
      owner.verified.set(job, attempt);
      // Not awaited: if it fails, the merge does the look-up itself.
      if (!owner.care.isSuspect(job)) deps.lookAhead(marker, behind, owner.uncommitted).catch(() => {});
    } else
      deps.log.warn(
        { job, attempt, slots: missing },
        'slots are missing devices that the ledger has counted',
      );
    return missing;
  }

  /** Whether all of the job's predecessors are merged or queued. */
  function isInSequence({ merges, committed }: OwnedPartition, { job, after }: JobMarker): boolean {
    if (after.every((other) => merges.has(other) || committed.hasAll(other))) return true;
    deps.log.warn({ job, after }, 'not merged yet: the marker of a job before it is missing');
    return false;
  }

  /** Merges several imports in one go, or one job of another kind. */
  async function merge(owner: OwnedPartition, markers: JobMarker[], step: SinkStep): Promise<void> {
    const began = performance.now();
    const [first] = markers as [JobMarker];
    const jobs = markers.map(({ job }) => job);
    await owner.held.untilReadable(jobs, step.signal);
    const behind = owner.slots.filter((slot) => jobs.some((job) => owner.committed.isOpen(slot, job)));
    if (first.request === 'drop') await drop(owner, first, behind, step);
    else if (first.kind === 'privacy') await deps.serveRequest(first, { ...owner, slots: behind }, step);
    else if (first.kind === 'delete') await deps.removeAttributes(first, behind, owner.committed, step);
    else await deps.mergeJobs({ ...owner, markers, slots: behind }, step);
    deps.notifier.notify();
    owner.uncommitted.forget(jobs);
    for (const job of jobs) owner.verified.delete(job);
    deps.onHeld(assignment.memory.heldBytes());
    deps.onMerged(first.kind, (performance.now() - began) / 1_000);
  }

  async function drop(owner: OwnedPartition, marker: JobMarker, slots: number[], step: SinkStep) {
    await deps.dropJob(marker, slots, owner.committed, step);
    if (owner.uncommitted.hasSpilled(marker.job))
      await step('forget-spills', () => spills.forget(owner.slots, [marker.job]));
  }

  /** Like missingFrom, with retries; or the reason why it cannot be determined. */
  async function findMissing(
    owner: OwnedPartition,
    marker: JobMarker,
    step: SinkStep,
  ): Promise<number[] | { reason: string }> {
    for (const failures = countFailures(); ; ) {
      try {
        return await missingFrom(owner, marker, step);
      } catch (error) {
        step.signal.throwIfAborted();
        failures.add(error);
        const { count, reason } = failures;
        deps.log.error({ err: error, job: marker.job, failures: count }, 'voting on a job failed');
        if (count === MAX_FAILURES) return { reason };
        await step.pause(FAILURE_PAUSE_MS * count);
      }
    }
  }

  /** Verifies a large job without blocking the partition, then votes. If interrupted, dispatch repeats the request. */
  async function voteLater(owner: OwnedPartition, marker: JobMarker): Promise<void> {
    const { step } = owner;
    const { job, attempt } = marker;
    if (owner.verifying.has(job)) return;
    owner.verifying.add(job);
    try {
      const missing = await findMissing(owner, marker, step);
      const vote = Array.isArray(missing)
        ? { job, attempt, partition: owner.partition, missing }
        : giveUp(owner, marker, missing.reason);
      await step('vote', () => votes.record([vote]));
      deps.notifier.notify();
    } finally {
      owner.verifying.delete(job);
    }
  }

  /** Prepare: returns votes. Commit: queues the merge, or votes again if devices are missing. */
  async function takeMarker(
    owner: OwnedPartition,
    marker: JobMarker,
    offset: bigint,
    step: SinkStep,
  ): Promise<Vote[]> {
    const { job, attempt, request } = marker;
    const isDecided = request !== 'prepare';
    const { partition } = owner;
    owner.committed.endedBefore(marker.ended_before);
    // A new dispatcher repeats the marker.
    if (isDecided) owner.merges.renew(marker);
    if (owner.merges.has(job) || owner.committed.hasAll(job)) return [];
    if (owner.committed.isGivenUp(job, attempt)) return [];
    const failed = owner.failed.get(job);
    if (failed?.attempt === attempt)
      return [{ job, attempt, partition, missing: [], failure: `sink: ${failed.reason}` }];
    if (isDecided && !isInSequence(owner, marker)) return [];
    if (request === 'prepare' && owner.uncommitted.sizeOf(job) > SMALL_BYTES) {
      voteLater(owner, marker).catch(() => {});
      return [];
    }
    const missing = request === 'drop' ? [] : await findMissing(owner, marker, step);
    if (!Array.isArray(missing)) return [giveUp(owner, marker, missing.reason)];
    if (!isDecided || missing.length > 0) return [{ job, attempt, partition, missing }];
    owner.failed.delete(job);
    owner.merges.add({ marker, offset, bytes: owner.uncommitted.sizeOf(job) });
    return [];
  }

  return {
    name: 'sink',
    input: 'devices',
    async handleAll(partition, deliveries, step) {
      const owner = await own(partition, step);
      const cast: Vote[] = [];
      for (const { offset, message } of deliveries) {
        // Until an aborted handler settles, this member cannot rejoin its group.
        step.signal.throwIfAborted();
        if (message.name === 'ValidatedDevices') {
          collect(owner, message.value, offset);
          await owner.held.spillIfFull(step.signal);
        } else if (message.name === 'JobMarker')
          cast.push(...(await takeMarker(owner, message.value, offset, step)));
      }
      deps.onHeld(assignment.memory.heldBytes());
      if (cast.length === 0) return;
      await step('vote', () => votes.record(cast));
      deps.notifier.notify();
    },
    /** Devices only in memory, and markers of unmerged jobs, must be read again after a crash. */
    committable(partition, handled) {
      const { uncommitted, merges } = assignment.taken.get(partition) ?? {};
      const oldest = [uncommitted?.oldestOffset(), merges?.oldestOffset()];
      return oldest.reduce<bigint>((least, at) => (at !== undefined && at < least ? at : least), handled);
    },
    assigned(_, step) {
      assignment = { step, memory: createSinkMemory(deps, step), owned: new Map(), taken: new Map() };
      deps.onHeld(0);
    },
  };
}
