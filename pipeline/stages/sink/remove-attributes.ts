/** Removes attributes from all devices of some slots, for a deletion. Done again after a crash it tells the first count. */
import type { JobMarker } from '../../../schemas/topics.ts';
import type { DeviceSets } from '../../sets/device-sets.ts';
import type { AckStore } from '../../stores/acks.ts';
import type { CommittedJobs } from './committed-jobs.ts';
import { countsOf, noChange, notMerged, targetOf } from './drop-job.ts';
import type { SinkStep } from './steps.ts';

interface Dependencies {
  sets: Pick<DeviceSets, 'removeKeys'>;
  acks: Pick<AckStore, 'recordAndAdvance'>;
}

export function createRemoveAttributes({ sets, acks }: Dependencies) {
  return async (
    marker: JobMarker,
    slots: number[],
    committed: CommittedJobs,
    step: SinkStep,
  ): Promise<void> => {
    const { job } = marker;
    const keys = new Set(marker.attributes);
    for (const slot of slots) {
      const target = targetOf([marker], slot, committed);
      const { changes } = await step('remove-keys', () => sets.removeKeys(target, keys));
      const change = changes.find((one) => one.job === job);
      const entry = { ...noChange(job, slot, 0), ...countsOf(change) };
      await step('ack', () => acks.recordAndAdvance([change?.dropped ? notMerged(job, slot, 0) : entry]));
      committed.add(slot, [job]);
    }
  };
}
