/** Removes attributes from all devices of some slots, for a deletion. Done again after a crash it tells the first count. */
import { spaces } from '../../../schemas/documents.ts';
import type { CommitMarker } from '../../../schemas/topics.ts';
import type { Step } from '../../runtime/step.ts';
import type { DeviceSets } from '../../sets/device-sets.ts';
import type { AckStore } from '../../stores/acks.ts';

interface Dependencies {
  sets: Pick<DeviceSets, 'removeKeys'>;
  acks: Pick<AckStore, 'recordAndAdvance'>;
}

export function createRemoveAttributes({ sets, acks }: Dependencies) {
  return async (
    { job, attributes }: CommitMarker,
    slots: number[],
    committed: ReadonlyMap<number, number>,
    step: Step<'sink'>,
  ): Promise<void> => {
    const keys = new Set(attributes);
    for (const slot of slots) {
      const target = { space: spaces.marketplace, slot, job, since: committed.get(slot)! };
      const { changes } = await step('remove-keys', () => sets.removeKeys(target, keys));
      const change = changes.find((one) => one.job === job);
      const pairs = [...(change?.pairs.values() ?? [])].reduce((sum, count) => sum + count, 0);
      const counted = { uniqueDevices: change?.devices ?? 0, pairs, filePairs: [] };
      const entry = { job, slot, ...counted, audienceDevices: 0, newDevices: 0, matchedDevices: 0 };
      await step('ack', () => acks.recordAndAdvance([entry]));
    }
  };
}
