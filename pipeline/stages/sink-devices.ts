/**
 * sink: one owner a partition, and so a slot. It collects the devices of jobs that are not merged yet. A job's first marker asks
 * whether the slots hold all of it: markers are in band, so everything of the job stands before them. When every slot does, the
 * second marker says to merge it. Redelivery is harmless: devices are sets, batches are known by number, and a slot takes nothing
 * of a job that it has merged.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { type CommitMarker, SLOTS, slotPartition, type ValidatedDevices } from '../../schemas/topics.ts';
import type { Stage } from '../kafka/stage.ts';
import { faultPoint } from '../runtime/fault-points.ts';
import type { Logger } from '../runtime/log.ts';
import type { Retry } from '../runtime/retry.ts';
import { FencedError } from '../sets/device-sets.ts';
import type { AckStore } from '../stores/acks.ts';
import type { Check, CheckStore } from '../stores/checks.ts';
import type { SpillStore } from '../stores/spills.ts';
import { type createMergeJobs, TOGETHER_BYTES } from './sink/merge-jobs.ts';
import type { createRemoveAttributes } from './sink/remove-attributes.ts';
import { createUncommitted, type Uncommitted } from './sink/uncommitted.ts';
import type { createVerifySlots } from './sink/verify-slots.ts';

const LONGEST_GATHER_MS = 100;
const FENCED_MS = 200;

export interface SinkDependencies {
  log: Logger;
  retry: Retry;
  acks: AckStore;
  checks: CheckStore;
  spills: SpillStore;
  verifySlots: ReturnType<typeof createVerifySlots>;
  mergeJobs: ReturnType<typeof createMergeJobs>;
  removeAttributes: ReturnType<typeof createRemoveAttributes>;
  devicePartitions: number;
  memoryBytes: number;
}

interface OwnedPartition {
  slots: number[];
  /** The last job merged, by slot. */
  committed: Map<number, number>;
  uncommitted: Uncommitted;
  /** Jobs of which the slots were found to hold all, by attempt: what is collected is not lost while the partition is ours. */
  verified: Map<number, number>;
}

export function createSinkDevices(deps: SinkDependencies): Stage {
  const { retry, acks, spills } = deps;
  let owned = new Map<number, Promise<OwnedPartition>>();
  let held = new Map<number, Uncommitted>();

  function own(partition: number, signal: AbortSignal): Promise<OwnedPartition> {
    const known = owned.get(partition);
    if (known) return known;
    const slots = Array.from({ length: SLOTS }, (_, slot) => slot).filter(
      (slot) => slotPartition(slot, deps.devicePartitions) === partition,
    );
    const taking = take(partition, slots, signal);
    owned.set(partition, taking);
    taking.catch(() => owned.delete(partition));
    return taking;
  }

  async function take(partition: number, slots: number[], signal: AbortSignal): Promise<OwnedPartition> {
    const committed = await retry('see how far the slots are', () => acks.committedJobs(slots), signal);
    const uncommitted = createUncommitted(
      await retry('see what was put aside', () => spills.jobsIn(slots), signal),
    );
    held.set(partition, uncommitted);
    return { slots, committed, uncommitted, verified: new Map() };
  }

  function collect(owner: OwnedPartition, devices: ValidatedDevices, offset: bigint): void {
    if (faultPoint('sink:collect') === 'skip') return;
    const committed = owner.committed.get(devices.slot);
    if (committed === undefined || devices.job <= committed) return;
    owner.uncommitted.add(devices, offset);
  }

  async function spillIfFull(owner: OwnedPartition, signal: AbortSignal): Promise<void> {
    let total = 0;
    for (const { bytes } of held.values()) total += bytes;
    // A small share is not worth a write: whoever holds most will put it aside with its own next message.
    if (total < deps.memoryBytes || owner.uncommitted.bytes * held.size * 2 < total) return;
    // Each partition puts aside its own, and the next message of another one does the same for that.
    faultPoint('sink:before-spill');
    const put = await owner.uncommitted.putAside((batch) =>
      retry('put devices aside', () => spills.save(batch), signal),
    );
    faultPoint('sink:after-spill');
    deps.log.info({ bytes: put }, 'devices put aside until their jobs commit');
  }

  /** Of the slots that have not merged the job, those that do not hold all of it. */
  async function lackingOf(
    owner: OwnedPartition,
    marker: CommitMarker,
    signal: AbortSignal,
  ): Promise<number[]> {
    const { job, attempt } = marker;
    if (owner.verified.get(job) === attempt) return [];
    const behind = owner.slots.filter((slot) => job > owner.committed.get(slot)!);
    const lacking = await deps.verifySlots(marker, behind, owner.uncommitted, signal);
    if (lacking.length === 0) owner.verified.set(job, attempt);
    else deps.log.warn({ job, attempt, slots: lacking }, 'slots lack devices that the ledger counts');
    return lacking;
  }

  async function answer(checks: Check[], signal: AbortSignal): Promise<void> {
    if (checks.length === 0) return;
    if (faultPoint('sink:before-answer') === 'skip') return;
    await retry('answer checks', () => deps.checks.record(checks), signal);
    faultPoint('sink:after-answer');
  }

  /** Whether the merge that must come before this one has been made, or will be with the run. */
  function isInSequence(
    owner: OwnedPartition,
    { job, previous }: CommitMarker,
    run: CommitMarker[],
  ): boolean {
    if (previous <= (run.at(-1)?.job ?? 0)) return true;
    if (owner.slots.every((slot) => owner.committed.get(slot)! >= previous)) return true;
    deps.log.warn({ job, previous }, 'not merged: the marker of the job before it is missing');
    return false;
  }

  /** Merges jobs whose markers stand one after the other: several imports together, anything else alone. */
  async function commit(owner: OwnedPartition, markers: CommitMarker[], signal: AbortSignal): Promise<void> {
    const last = markers.at(-1)!.job;
    for (;;) {
      const behind = owner.slots.filter((slot) => last > owner.committed.get(slot)!);
      if (behind.length === 0) break;
      try {
        if (markers[0]!.kind === 'delete') await deps.removeAttributes(markers[0]!, behind, signal);
        else await deps.mergeJobs({ ...owner, markers, slots: behind }, signal);
        for (const slot of behind) owner.committed.set(slot, last);
      } catch (error) {
        if (!(error instanceof FencedError)) throw error;
        // Somebody else owns the partition by now. What it has merged is done; with the rest it may be busy at this moment, so we
        // look again, until nothing is left or we are told that the partition is ours no more.
        deps.log.warn({ job: last, slots: behind }, 'fenced: another sink is merging this job');
        await sleep(FENCED_MS, undefined, { signal });
        owner.committed = await retry(
          'see how far the slots are',
          () => acks.committedJobs(owner.slots),
          signal,
        );
      }
    }
    owner.uncommitted.forgetUpTo(last);
    for (const job of owner.verified.keys()) if (job <= last) owner.verified.delete(job);
  }

  return {
    name: 'sink',
    input: 'devices',
    async handleAll(partition, deliveries, signal) {
      const owner = await own(partition, signal);
      let run: CommitMarker[] = [];
      let bytes = 0;
      let merging = 0;
      let answers: Check[] = [];
      const flush = async () => {
        await answer(answers, signal);
        answers = [];
        if (run.length === 0) return;
        const began = performance.now();
        await commit(owner, run, signal);
        merging += performance.now() - began;
        run = [];
        bytes = 0;
      };
      for (const { offset, message } of deliveries) {
        if (message.name === 'ValidatedDevices') {
          collect(owner, message.value, offset);
          await spillIfFull(owner, signal);
        } else if (message.name === 'CommitMarker') {
          const marker = message.value;
          if (owner.slots.every((slot) => marker.job <= owner.committed.get(slot)!)) continue;
          // Markers come in the order of their jobs; one that does not is a repetition by a dispatcher that took over.
          if (!marker.check && marker.job <= (run.at(-1)?.job ?? 0)) continue;
          if (!marker.check && !isInSequence(owner, marker, run)) continue;
          const lacking = await lackingOf(owner, marker, signal);
          const { job, attempt } = marker;
          if (marker.check || lacking.length > 0) answers.push({ job, attempt, partition, lacking });
          if (marker.check || lacking.length > 0) continue;
          const size = owner.slots.reduce(
            (sum, slot) => sum + owner.uncommitted.bytesOf(marker.job, slot),
            0,
          );
          // What an audience matches depends on the imports before it, and on none behind it.
          const together =
            marker.kind === 'import' && run[0]?.kind === 'import' && bytes + size <= TOGETHER_BYTES;
          if (!together) await flush();
          run.push(marker);
          bytes += size;
        }
      }
      await flush();
      // Under load the next jobs come meanwhile, and share one merge; a job that comes alone has been merged by now.
      if (merging > 0) await sleep(Math.min(merging, LONGEST_GATHER_MS));
    },
    /**
     * What is only in memory must be read again after a crash. So must markers that wait to be merged together, and they are in no
     * memory of devices: nothing of what is being handled is durable yet.
     */
    durable(partition, handled) {
      const oldest = held.get(partition)?.oldestOffset();
      return oldest !== undefined && oldest < handled ? oldest : handled;
    },
    assigned() {
      owned = new Map();
      held = new Map();
    },
  };
}
