/** Small batches share messages; a sink reads from them what separate batches would contain. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type BatchDevices, messagesOf } from '../../pipeline/stages/validate/send-devices.ts';
import { encodeGroups } from '../../pipeline/wire/device-groups.ts';
import { batchesIn } from '../../pipeline/wire/devices-codec.ts';
import { numberedDevices } from '../sets/devices.ts';

const slots = fc.uniqueArray(
  fc.record({
    slot: fc.nat(3),
    groups: fc
      .array(
        fc.nat(5).map((devices) => ({ key: 'a', devices: numberedDevices(0, devices + 1) })),
        { minLength: 1, maxLength: 3 },
      )
      .map(encodeGroups),
  }),
  { selector: ({ slot }) => slot, maxLength: 4 },
);
const batches = fc.uniqueArray(
  fc.record({ job: fc.nat(2), file: fc.nat(20), batch: fc.nat(2), slots }) as fc.Arbitrary<BatchDevices>,
  { selector: ({ job, file, batch }) => `${job}.${file}.${batch}` },
);
const sorted = (messages: Iterable<object>) => [...messages].map((one) => JSON.stringify(one)).sort();

it('one message a job and slot', () => {
  fc.assert(
    fc.property(batches, (some) => {
      const messages = [...messagesOf(some)];
      const wanted = some.flatMap(({ job, file, batch, slots: own }) =>
        own.map(({ slot, groups }) => ({ job, file, batch, slot, part: 0, groups })),
      );
      expect(sorted(messages.flatMap((message) => [...batchesIn(message)]))).toEqual(sorted(wanted));
      const places = messages.map(({ job, slot }) => `${job} ${slot}`);
      expect(new Set(places).size).toBe(places.length);
    }),
  );
});

it('what is too large for a message is sent in parts, and shares nothing', () => {
  const devices = numberedDevices(0, 120_000);
  const batchOf = (file: number) => ({
    job: 1,
    file,
    batch: 0,
    slots: [{ slot: 2, groups: encodeGroups([{ key: 'a', devices }]) }],
  });
  const messages = [...messagesOf([batchOf(0), batchOf(1)])];
  expect(messages.map(({ file, part, more }) => [file, part, more])).toEqual([
    [0, 0, undefined],
    [0, 1, undefined],
    [0, 2, undefined],
    [1, 0, undefined],
    [1, 1, undefined],
    [1, 2, undefined],
  ]);
});
