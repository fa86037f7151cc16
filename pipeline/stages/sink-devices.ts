/**
 * sink: one owner a partition, and so a slot. It collects the devices of jobs that are not committed yet, and merges a job when
 * its marker comes: in band, so everything of the job stands before it. Redelivery is harmless: devices are sets, batches are
 * known by number, and a slot takes nothing of a job that it has merged.
 */

import { type CommitMarker, SLOTS, slotPartition, type ValidatedDevices } from '../../schemas/topics.ts';
import type { Delivery, Stage } from '../runtime/consume.ts';
import { faultPoint } from '../runtime/fault-points.ts';
import type { Logger } from '../runtime/log.ts';
import type { Retry } from '../runtime/retry.ts';
import { FencedError } from '../sets/device-sets.ts';
import type { AckStore } from '../stores/acks.ts';
import type { SpillStore } from '../stores/spills.ts';
import type { MergeSlots } from './sink/merge-job.ts';
import { createUncommitted, type Uncommitted } from './sink/uncommitted.ts';

export interface SinkDependencies {
  log: Logger;
  retry: Retry;
  acks: AckStore;
  spills: SpillStore;
  mergeSlots: MergeSlots;
  devicePartitions: number;
  memoryBytes: number;
}

interface OwnedPartition {
  slots: number[];
  /** The last job merged, by slot. */
  committed: Map<number, number>;
  uncommitted: Uncommitted;
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
    const uncommitted = createUncommitted();
    held.set(partition, uncommitted);
    const taking = retry('see how far the slots are', () => acks.committedJobs(slots), signal).then(
      (committed) => ({
        slots,
        committed,
        uncommitted,
      }),
    );
    owned.set(partition, taking);
    taking.catch(() => owned.delete(partition));
    return taking;
  }

  function collect(owner: OwnedPartition, devices: ValidatedDevices, offset: bigint): void {
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

  async function commit(owner: OwnedPartition, marker: CommitMarker, signal: AbortSignal): Promise<void> {
    const behind = owner.slots.filter((slot) => marker.job > owner.committed.get(slot)!);
    if (behind.length > 0) {
      try {
        await deps.mergeSlots(marker, behind, owner.uncommitted, signal);
      } catch (error) {
        // Somebody else owns the partition by now and has merged the job: nothing is left to do for it here.
        if (!(error instanceof FencedError)) throw error;
        deps.log.warn({ job: marker.job, slots: behind }, 'fenced: another sink has merged this job');
        owner.committed = await retry(
          'see how far the slots are',
          () => acks.committedJobs(owner.slots),
          signal,
        );
        if (owner.slots.some((slot) => owner.committed.get(slot)! < marker.job)) throw error;
        return owner.uncommitted.forgetUpTo(marker.job);
      }
      for (const slot of behind) owner.committed.set(slot, marker.job);
    }
    owner.uncommitted.forgetUpTo(marker.job);
  }

  return {
    name: 'sink',
    input: 'devices',
    async handle({ partition, offset, message, signal }: Delivery) {
      const owner = await own(partition, signal);
      if (message.name === 'ValidatedDevices') {
        collect(owner, message.value, offset);
        await spillIfFull(owner, signal);
      } else if (message.name === 'CommitMarker') {
        await commit(owner, message.value, signal);
      }
    },
    /** What is only in memory must be read again after a crash. */
    durable: (partition, handled) => held.get(partition)?.oldestOffset() ?? handled,
    assigned() {
      owned = new Map();
      held = new Map();
    },
  };
}
