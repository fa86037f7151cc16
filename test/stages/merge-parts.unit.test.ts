/** However large a job is, a merge holds a bounded part of a slot's devices at a time; the parts are in order and complete. */
import { describe, expect, it } from 'vitest';
import { cutByAddress, RANGES } from '../../pipeline/formats/address-ranges.ts';
import { createFileRanges } from '../../pipeline/formats/file-numbers.ts';
import type { Devices } from '../../pipeline/sets/devices.ts';
import { createCommittedJobs } from '../../pipeline/stages/sink/committed-jobs.ts';
import { createMergeJobs, PARTS_A_GROUP } from '../../pipeline/stages/sink/merge-jobs.ts';
import { createUncommitted } from '../../pipeline/stages/sink/uncommitted.ts';
import type { Ack } from '../../pipeline/stores/acks.ts';
import type { Spill } from '../../pipeline/stores/spills.ts';
import { encodeGroups } from '../../pipeline/wire/device-groups.ts';
import { framedIn } from '../../pipeline/wire/framed-devices.ts';
import { randomDevices, testPlacement, toPlain } from '../sets/devices.ts';
import { markerOf } from '../support/markers.ts';
import { recordedStep } from '../support/recorded-step.ts';

const SLOT = 3;
const DEVICES = 12_000;
const BATCHES = 20;
const devices = randomDevices(DEVICES, 1);
const part = (from: number, to: number) => devices.subarray(16 * from, 16 * to);
const each = DEVICES / BATCHES;
/** Each batch repeats a tenth of the one before it. */
const messages = Array.from({ length: BATCHES }, (_, batch) => {
  const groups = encodeGroups([
    { key: '5', devices: part(Math.max(0, batch * each - each / 10), (batch + 1) * each) },
  ]);
  return { job: 1, file: 0, batch, slot: SLOT, part: 0, groups };
});

const bytes = messages.reduce((sum, { groups }) => sum + groups.length, 0);

/** Keeps spills in the form that MongoDB does. */
function keepSpills() {
  let kept: Buffer[][] = [];
  return {
    save: async (spill: Spill) => {
      kept = await cutByAddress(spill.devices, testPlacement.hash);
    },
    sizes: async () => new Map([[SLOT, bytes]]),
    forget: async () => {},
    async *read(_: number, __: number, from: number, to: number) {
      for (let range = from; range < to; range++)
        for (const piece of kept[range] ?? []) yield { range, messages: framedIn(piece) };
    },
  };
}

describe.each([
  ['from memory', false],
  ['spilled', true],
])('%s', (_, isSpilled) => {
  it.each([
    ['in one part', bytes, 1],
    ['four ranges at a time', (PARTS_A_GROUP * bytes) / (RANGES / 4), RANGES / 4],
    ['each range in four parts', (PARTS_A_GROUP * bytes) / (4 * RANGES), 4 * RANGES],
  ])('%s', async (_, size, count) => {
    const groupBytes = 1.1 * size;
    const parts: Devices[] = [];
    const acks: Ack[] = [];
    const spills = keepSpills();
    const mergeJobs = createMergeJobs({
      hashDevice: testPlacement.hash,
      groupBytes,
      spills,
      sets: {
        async merge(_: unknown, gather: () => AsyncIterable<Devices>) {
          for await (const one of gather()) parts.push(one);
          return { total: 0, changes: [] };
        },
        suppressedAmong: async () => undefined,
      },
      acks: { recordAndAdvance: async (more: Ack[]) => acks.push(...more) },
      verdicts: { passedOf: async () => createFileRanges([0, 0]), collapsedOf: async () => () => false },
      eventValues: {},
    } as unknown as Parameters<typeof createMergeJobs>[0]);
    const uncommitted = createUncommitted();
    for (const [offset, message] of messages.entries()) uncommitted.add(message, BigInt(offset));
    if (isSpilled) await uncommitted.spill(() => true, spills.save);
    const committed = createCommittedJobs(new Map([[SLOT, { last: 0, open: new Set() }]]));
    const run = { markers: [markerOf({ job: 1 })], slots: [SLOT], committed };
    await mergeJobs({ ...run, uncommitted }, recordedStep('sink'));

    const addresses = parts.flatMap((one) => [...one.addresses]);
    expect(addresses.every((address, i) => i === 0 || address >= addresses[i - 1]!)).toBe(true);
    expect(new Set(parts.flatMap((one) => [...toPlain(one).keys()])).size).toBe(DEVICES);
    const pairs = DEVICES + ((BATCHES - 1) * each) / 10;
    expect(acks).toMatchObject([{ uniqueDevices: DEVICES, pairs, filePairs: [0, DEVICES] }]);
    expect(parts).toHaveLength(count);
    const largest = parts.reduce((most, { count }) => Math.max(most, count), 0);
    if (count > 1) expect(largest * 16).toBeLessThan((2 * groupBytes) / PARTS_A_GROUP);
  });
});
