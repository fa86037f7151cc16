/** Empties attributes in some slots, for a deletion. Done again after a crash it tells the first count. */
import { setNames } from '../../../schemas/documents.ts';
import type { CommitMarker } from '../../../schemas/topics.ts';
import type { Step } from '../../runtime/step.ts';
import type { DeviceSets } from '../../sets/device-sets.ts';
import { countDistinct, deviceCount } from '../../sets/packed.ts';
import type { Ack, AckStore } from '../../stores/acks.ts';

interface Dependencies {
  sets: Pick<DeviceSets, 'read' | 'drop'>;
  acks: AckStore;
}

export function createRemoveAttributes({ sets, acks }: Dependencies) {
  return async (marker: CommitMarker, slots: number[], step: Step<'sink'>): Promise<void> => {
    const names = marker.attributes.map(setNames.attribute);
    const counted = await step.read('see what was counted', () => acks.counted(marker.job, slots));
    for (const slot of slots) {
      // Counted before anything is removed: done again, there would be less to count. Acknowledged when it is gone.
      if (!counted.has(slot)) {
        const held = await Promise.all(
          names.map((set) => step.read('read a set', () => sets.read(set, slot))),
        );
        const entry: Ack = {
          job: marker.job,
          slot,
          uniqueDevices: countDistinct(held),
          pairs: held.reduce((sum, devices) => sum + deviceCount(devices), 0),
          filePairs: [],
          audienceDevices: 0,
          newDevices: 0,
          matchedDevices: 0,
        };
        await step('count-deleted', () => acks.count(entry));
      }
      const stillOurs = async () => ((await acks.committedJobs([slot])).get(slot) ?? 0) < marker.job;
      await step('drop', () => sets.drop(names, slot, stillOurs));
      await step('advance', () => acks.removed(slot, marker.job));
    }
  };
}
