/**
 * Matches the devices of a small load against the marketplace as soon as its slots hold all of them. This is most of the work of a merge,
 * done while the slots would otherwise wait for the decision.
 */
import { spaces } from '../../../schemas/documents.ts';
import type { JobMarker, ValidatedDevices } from '../../../schemas/topics.ts';
import type { InRange } from '../../formats/address-ranges.ts';
import type { DeviceHash } from '../../formats/device-hash.ts';
import type { DeviceSets } from '../../sets/device-sets.ts';
import type { VerdictStore } from '../../stores/verdicts.ts';
import { gatherSlot } from './gather-slot.ts';
import type { Uncommitted } from './uncommitted.ts';

/** Per partition. A larger load takes longer for other reasons. */
const MAX_BYTES = 1_000_000;

interface Dependencies {
  sets: Pick<DeviceSets, 'lookAhead'>;
  verdicts: Pick<VerdictStore, 'passedOf'>;
  hashDevice: DeviceHash;
}

export function createLookAhead({ sets, verdicts, hashDevice }: Dependencies) {
  return async (marker: JobMarker, slots: number[], uncommitted: Uncommitted): Promise<void> => {
    const { job, audience } = marker;
    if (audience === null || uncommitted.hasSpilled(job)) return;
    const bytes = slots.reduce((sum, slot) => sum + uncommitted.bytesOf(job, slot), 0);
    if (bytes > MAX_BYTES) return;
    const isPassed = await verdicts.passedOf(marker);
    for (const slot of slots) {
      const files = { isPassed, isCollapsed: () => false };
      const held = () => wholeSlot(uncommitted.of(job, slot));
      const { devices } = await gatherSlot(marker, files, held, withoutKeys, hashDevice);
      if (devices.count > 0) void sets.lookAhead({ space: spaces.marketplace, slot, job }, devices);
    }
  };
}

const withoutKeys = async (keys: string[]) => keys.map(() => 0);

async function* wholeSlot(messages: Iterable<ValidatedDevices>): AsyncGenerator<InRange> {
  yield { range: 0, messages };
}
