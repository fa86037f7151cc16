/** Removes attributes from all devices of some slots, for a deletion. Repeated after a crash, it returns the first count. */
import { createOneAtATime } from '../../runtime/one-at-a-time.ts';
import type { DeviceSets } from '../../sets/device-sets.ts';
import type { AckStore } from '../../stores/acks.ts';
import { ackOfDeletion, slotBySlot } from './drop-job.ts';

interface Dependencies {
  sets: Pick<DeviceSets, 'removeKeys'>;
  acks: Pick<AckStore, 'recordAndAdvance'>;
}

export function createRemoveAttributes({ sets, acks }: Dependencies) {
  const oneAtATime = createOneAtATime();
  return slotBySlot(acks, async ({ job, attributes }, target, step) => {
    const keys = new Set(attributes);
    // Two slots at once would finish no sooner, but imports of other partners would wait for an edit of both.
    const { changes } = await oneAtATime('slot', () =>
      step('remove-keys', () => sets.removeKeys(target, keys)),
    );
    return ackOfDeletion(
      job,
      target.slot,
      changes.find((known) => known.job === job),
    );
  });
}
