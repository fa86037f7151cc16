/** A slot verifies all of a job, however many batches the job has. */
import { expect, it } from 'vitest';
import { createUncommitted } from '../../pipeline/stages/sink/uncommitted.ts';
import { createVerifySlots } from '../../pipeline/stages/sink/verify-slots.ts';
import type { SpillStore } from '../../pipeline/stores/spills.ts';
import { encodeGroups } from '../../pipeline/wire/device-groups.ts';
import { numberedDevices } from '../sets/devices.ts';
import { markerOf } from '../support/markers.ts';
import { recordedStep } from '../support/recorded-step.ts';

const SLOT = 3;
/** One more than a Set can hold. */
const BATCHES = 2 ** 24 + 1;

it('more batches than a Set can hold, the last of them twice', async () => {
  const message = { job: 1, file: 0, batch: 0, slot: SLOT, part: 0, groups: encodeGroups([]) };
  const last = {
    ...message,
    batch: BATCHES - 1,
    groups: encodeGroups([{ key: '5', devices: numberedDevices(0, 10) }]),
  };
  const of = function* () {
    for (; message.batch < BATCHES - 1; message.batch++) yield message;
    yield last;
    yield last;
  };
  const verify = createVerifySlots({
    spills: {} as SpillStore,
    verdicts: { passedOf: async () => () => true },
  });
  const marker = markerOf({ job: 1 }, [last]);
  expect(await verify(marker, [SLOT], { ...createUncommitted(), of }, recordedStep('sink'))).toEqual([]);
});
