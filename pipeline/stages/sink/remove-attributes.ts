/** Empties attributes in some slots, for a deletion. Done again after a crash it tells the first count. */
import { setNames } from '../../../schemas/documents.ts';
import type { CommitMarker } from '../../../schemas/topics.ts';
import { faultPoint } from '../../runtime/fault-points.ts';
import type { Retry } from '../../runtime/retry.ts';
import type { DeviceSets } from '../../sets/device-sets.ts';
import { countDistinct, deviceCount } from '../../sets/packed.ts';
import type { Ack, AckStore } from '../../stores/acks.ts';

interface Dependencies {
  retry: Retry;
  sets: Pick<DeviceSets, 'read' | 'drop'>;
  acks: AckStore;
}

export function createRemoveAttributes({ retry, sets, acks }: Dependencies) {
  return async (marker: CommitMarker, slots: number[], signal: AbortSignal): Promise<void> => {
    const names = marker.attributes.map(setNames.attribute);
    const counted = await retry('see what was counted', () => acks.counted(marker.job, slots), signal);
    for (const slot of slots) {
      // Counted before anything is removed: done again, there would be less to count. Acknowledged when it is gone.
      if (!counted.has(slot)) {
        const held = await Promise.all(
          names.map((set) => retry('read a set', () => sets.read(set, slot), signal)),
        );
        const entry: Ack = {
          job: marker.job,
          slot,
          uniqueDevices: countDistinct(held),
          pairs: held.reduce((sum, devices) => sum + deviceCount(devices), 0),
          filePairs: [],
          audienceDevices: 0,
          matchedDevices: 0,
        };
        faultPoint('sink:before-count-deleted');
        await retry('count what will be removed', () => acks.count(entry), signal);
        faultPoint('sink:after-count-deleted');
      }
      const stillOurs = async () => ((await acks.committedJobs([slot])).get(slot) ?? 0) < marker.job;
      faultPoint('sink:before-drop');
      await retry('empty the sets', () => sets.drop(names, slot, stillOurs), signal);
      faultPoint('sink:after-drop');
      await retry('acknowledge', () => acks.removed(slot, marker.job), signal);
      faultPoint('sink:after-advance');
    }
  };
}
