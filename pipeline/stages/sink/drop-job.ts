/**
 * Drops a job, for an operator, in the slots that have not merged it: they never will, not even through a zombie owner. A slot that merged
 * it without acknowledging keeps it and says so in its ack. Idempotent.
 */
import { Binary } from 'mongodb';
import { spaces } from '../../../schemas/documents.ts';
import type { JobMarker } from '../../../schemas/topics.ts';
import { packCounts } from '../../formats/number-table.ts';
import type { DeviceSets, SlotChange, SlotTarget } from '../../sets/device-sets.ts';
import type { Ack, AckStore } from '../../stores/acks.ts';
import type { CommittedJobs } from './committed-jobs.ts';
import type { SinkStep } from './steps.ts';

interface Dependencies {
  sets: Pick<DeviceSets, 'drop'>;
  acks: Pick<AckStore, 'recordAndAdvance'>;
  /** The same for a privacy request, which changes several spaces. */
  dropRequest(marker: JobMarker, target: SlotTarget, step: SinkStep): Promise<Ack>;
}

export const createDropJob = ({ sets, acks, dropRequest }: Dependencies) =>
  slotBySlot(acks, async (marker, target, step) => {
    const { job, kind, audience } = marker;
    if (kind === 'privacy') return dropRequest(marker, target, step);
    const { total, changes } = await step('drop', () => sets.drop(target));
    const change = changes.find((known) => known.job === job);
    if (kind === 'delete') return ackOfDeletion(job, target.slot, change);
    return change?.dropped
      ? notMerged(job, target.slot, audience === null ? 0 : total)
      : merged(marker, target.slot, total, change);
  });

/** Acknowledges each slot before working on the next. */
export const slotBySlot =
  (
    acks: Pick<AckStore, 'recordAndAdvance'>,
    work: (marker: JobMarker, target: SlotTarget, step: SinkStep) => Promise<Ack>,
  ) =>
  async (marker: JobMarker, slots: number[], committed: CommittedJobs, step: SinkStep): Promise<void> => {
    for (const slot of slots) {
      const ack = await work(marker, targetOf([marker], slot, committed), step);
      await step('ack', () => acks.recordAndAdvance([ack]));
      committed.add(slot, [marker.job]);
    }
  };

/** The slot of the space that the jobs are merged into. */
export const targetOf = (markers: JobMarker[], slot: number, committed: CommittedJobs): SlotTarget => ({
  space: spaces.of(markers[0]!),
  slot,
  jobs: markers,
  endedBefore: Math.max(...markers.map(({ ended_before }) => ended_before)),
  isOpen: (job) => committed.isOpen(slot, job),
});

/** Ack of a slot in which the job changed nothing. */
export const noChange = (job: number, slot: number, audienceDevices: number): Ack => ({
  job,
  slot,
  uniqueDevices: 0,
  pairs: 0,
  filePairs: [],
  audienceDevices,
  newDevices: 0,
  matchedDevices: 0,
});

export const notMerged = (job: number, slot: number, audienceDevices: number): Ack => ({
  ...noChange(job, slot, audienceDevices),
  dropped: true,
});

/** A dropped deletion may have removed something before. */
export const ackOfDeletion = (job: number, slot: number, change: SlotChange | undefined): Ack => ({
  ...(change?.dropped ? notMerged(job, slot, 0) : noChange(job, slot, 0)),
  ...countsOf(change),
});

function merged({ job, kind }: JobMarker, slot: number, total: number, change?: SlotChange): Ack {
  const counts = countsOf(change);
  // The number of devices stored before is no longer known.
  if (kind === 'import') return { ...noChange(job, slot, 0), ...counts, onlyNew: true };
  const { attributePairs: _, ...ofEvents } = counts;
  const added = { newDevices: change?.devices ?? 0, matchedDevices: change?.matched ?? 0 };
  return { ...noChange(job, slot, total), ...ofEvents, ...added, onlyNew: true };
}

/** The counts in the manifest. */
export const countsOf = (change: SlotChange | undefined) => ({
  uniqueDevices: change?.devices ?? 0,
  pairs: [...(change?.pairs.values() ?? [])].reduce((sum, count) => sum + count, 0),
  ...(change ? { attributePairs: new Binary(packCounts(change.pairs)) } : {}),
});
