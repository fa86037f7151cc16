/** Removes attributes from all devices of some slots, for a deletion. Repeated after a crash, it returns the first count. */
import type { DeviceSets } from '../../sets/device-sets.ts';
import type { AckStore } from '../../stores/acks.ts';
import { countsOf, noChange, notMerged, slotBySlot } from './drop-job.ts';

interface Dependencies {
  sets: Pick<DeviceSets, 'removeKeys'>;
  acks: Pick<AckStore, 'recordAndAdvance'>;
}

export const createRemoveAttributes = ({ sets, acks }: Dependencies) =>
  slotBySlot(acks, async ({ job, attributes }, target, step) => {
    const keys = new Set(attributes);
    const { changes } = await step('remove-keys', () => sets.removeKeys(target, keys));
    const change = changes.find((known) => known.job === job);
    return change?.dropped
      ? notMerged(job, target.slot, 0)
      : { ...noChange(job, target.slot, 0), ...countsOf(change) };
  });
