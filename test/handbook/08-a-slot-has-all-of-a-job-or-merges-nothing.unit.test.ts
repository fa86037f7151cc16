/**
 * 8. Before a job is merged, every slot votes: does it hold what the ledger counted, in pairs and by an order-independent checksum?
 *    Any loss on the way shows here. Then nothing is merged, and the files are published again.
 */
import { expect, it } from 'vitest';
import { createFileRanges } from '../../pipeline/formats/file-numbers.ts';
import { createUncommitted } from '../../pipeline/stages/sink/uncommitted.ts';
import { createVerifySlots } from '../../pipeline/stages/sink/verify-slots.ts';
import type { SpillStore } from '../../pipeline/stores/spills.ts';
import { encodeGroups } from '../../pipeline/wire/device-groups.ts';
import type { ValidatedDevices } from '../../schemas/topics.ts';
import { numberedDevices } from '../sets/devices.ts';
import { markerOf } from '../support/markers.ts';
import { recordedStep } from '../support/recorded-step.ts';

const SLOT = 3;
const message = (batch: number): ValidatedDevices => ({
  job: 1,
  file: 0,
  batch,
  slot: SLOT,
  part: 0,
  groups: encodeGroups([{ key: '5', devices: numberedDevices(batch * 10, batch * 10 + 10) }]),
});
const marker = markerOf({ job: 1 }, [message(0), message(1)]);
const verify = createVerifySlots({
  spills: {} as SpillStore,
  verdicts: { passedOf: async ({ passed }) => createFileRanges(passed) },
});

async function missingAfter(...received: ValidatedDevices[]): Promise<number[]> {
  const uncommitted = createUncommitted();
  for (const [offset, one] of received.entries()) uncommitted.add(one, BigInt(offset));
  return verify(marker, [SLOT], uncommitted, recordedStep('sink'));
}

it('everything, in any order and repeated: the slot may merge', async () => {
  expect(await missingAfter(message(1), message(0), message(1))).toEqual([]);
});

it('a message is missing: the slot says so', async () => {
  expect(await missingAfter(message(0))).toEqual([SLOT]);
});

it('as many pairs, but other ones: the checksum tells', async () => {
  const other = { ...message(1), groups: encodeGroups([{ key: '5', devices: numberedDevices(70, 80) }]) };
  expect(await missingAfter(message(0), other)).toEqual([SLOT]);
});
