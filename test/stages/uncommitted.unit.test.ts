/** Small batches that share messages are held as received and returned as if each had its own message. */
import { expect, it } from 'vitest';
import { createUncommitted } from '../../pipeline/stages/sink/uncommitted.ts';
import { messagesOf } from '../../pipeline/stages/validate/send-devices.ts';
import { encodeGroups } from '../../pipeline/wire/device-groups.ts';
import { numberedDevices } from '../sets/devices.ts';

const FILES = 1_000;
const [JOB, SLOT] = [1, 3];
const files = Array.from({ length: FILES }, (_, file) => ({
  job: JOB,
  file,
  batch: 0,
  slots: [{ slot: SLOT, groups: encodeGroups([{ key: '5', devices: numberedDevices(file, file + 1) }]) }],
}));
const wanted = files.map(({ job, file, batch, slots }) => ({
  job,
  file,
  batch,
  slot: SLOT,
  part: 0,
  groups: slots[0]!.groups,
}));

it('a thousand files in one message take little, and come out as a thousand batches', async () => {
  const uncommitted = createUncommitted();
  for (const message of messagesOf(files)) uncommitted.add(message, 0n);
  expect([...uncommitted.of(JOB, SLOT)]).toEqual(wanted);
  expect(uncommitted.bytes).toBeLessThan(30 * FILES);

  const saved: number[] = [];
  const save = async ({ devices }: { devices: unknown[] }) => void saved.push(devices.length);
  expect(await uncommitted.spill((job) => job !== JOB, save)).toBe(0);
  expect([saved, uncommitted.hasSpilled(JOB)]).toEqual([[], false]);
  const held = uncommitted.bytes;
  expect(await uncommitted.spill((job) => job === JOB, save)).toBe(held);
  expect([saved, uncommitted.bytes, uncommitted.hasSpilled(JOB)]).toEqual([[FILES], 0, true]);
});

it('what comes while a job is spilled is kept, and offsets stay behind what is not saved', async () => {
  const uncommitted = createUncommitted();
  const [first, second] = [...messagesOf(files.slice(0, 1)), ...messagesOf(files.slice(1, 2))];
  uncommitted.add(first!, 7n);
  const held = uncommitted.bytes;
  let saved = () => {};
  const spilt = uncommitted.spill(
    () => true,
    () => new Promise<void>((resolve) => (saved = resolve)),
  );
  uncommitted.add(second!, 8n);
  expect([...uncommitted.of(JOB, SLOT)].map(({ file }) => file)).toEqual([1]);
  expect([uncommitted.isSpilling(JOB), uncommitted.oldestOffset(), uncommitted.bytes]).toEqual([
    true,
    7n,
    2 * held,
  ]);
  saved();
  expect(await spilt).toBe(held);
  expect([uncommitted.isSpilling(JOB), uncommitted.oldestOffset(), uncommitted.bytes]).toEqual([
    false,
    8n,
    held,
  ]);
});

it('what is kept does not change with the buffer that it came in', () => {
  const uncommitted = createUncommitted();
  const groups = encodeGroups([{ key: '5', devices: numberedDevices(0, 10) }]);
  const before = Buffer.from(groups);
  uncommitted.add({ job: JOB, file: 0, batch: 0, slot: SLOT, part: 0, groups }, 0n);
  groups.fill(0);
  expect([...uncommitted.of(JOB, SLOT)].map((batch) => batch.groups)).toEqual([before]);
});
