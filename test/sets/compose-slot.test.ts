import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createDeviceSets } from '../../pipeline/sets/device-sets.ts';
import { createDistinctCounter } from '../../pipeline/sets/distinct-counter.ts';
import { ensureIndexes } from '../../pipeline/stores/indexes.ts';
import { setNames } from '../../schemas/documents.ts';
import { openDatabase } from './database.ts';
import { numberedDevices, toHex } from './devices.ts';

const database = openDatabase();
const owner = async () => true;
const layout = { inlineDevices: 4, chunkDevices: 64, smallChunks: 3 };
const SLOT = 4;
const AUDIENCE = setNames.audience(1, 1);

const range = fc.record({ from: fc.nat(300), length: fc.nat(200) });
const devicesOf = ({ from, length }: { from: number; length: number }) =>
  numberedDevices(from, from + length);
const byName = <T extends { set: string }>(rows: T[]) => rows.toSorted((a, b) => (a.set < b.set ? -1 : 1));

it('is what plain Sets give: attributes, other audiences, events, distinct devices, with a counter of any size', async () => {
  const ranges = fc.array(range, { maxLength: 6 });
  const arbitrary = fc.record({
    own: range,
    attributes: ranges,
    others: ranges,
    events: ranges,
    max: fc.integer({ min: 16, max: 400 }),
  });
  await fc.assert(
    fc.asyncProperty(arbitrary, async ({ own, attributes, others, events, max }) => {
      await database.db.dropDatabase();
      await ensureIndexes(database.db);
      const sets = createDeviceSets(database.db, { layout });
      const named = (list: typeof others, nameOf: (i: number) => string) =>
        list.map((one, i) => ({ set: nameOf(i), slot: SLOT, devices: devicesOf(one) }));
      const wanted = {
        attributes: named(attributes, (i) => setNames.attribute(i)),
        others: named(others, (i) => setNames.audience(i + 2, 3)),
        events: named(events, (i) => setNames.event(1, 1, `event ${i}`)),
      };
      // What must not be seen: the same in another slot, other generations, another audience's events.
      const unseen = [
        { set: setNames.attribute(0), slot: SLOT + 1, devices: numberedDevices(0, 50) },
        { set: setNames.audience(2, 2), slot: SLOT, devices: devicesOf(own) },
        { set: setNames.event(1, 10, 'old'), slot: SLOT, devices: devicesOf(own) },
        { set: setNames.event(11, 1, 'other'), slot: SLOT, devices: devicesOf(own) },
      ];
      const all = [{ set: AUDIENCE, slot: SLOT, devices: devicesOf(own) }, ...Object.values(wanted).flat()];
      await sets.add([...all, ...unseen], owner);

      const held = new Set(toHex(devicesOf(own)));
      const shared = (list: typeof all) =>
        list
          .map(({ set, devices }) => ({ set, hex: toHex(devices) }))
          .filter(({ hex }) => hex.length > 0)
          .map(({ set, hex }) => ({
            set,
            devices: hex.length,
            common: hex.filter((one) => held.has(one)).length,
          }));
      const marketplace = new Set(wanted.attributes.flatMap(({ devices }) => toHex(devices)));
      const distinct = createDistinctCounter(max);
      const request = { set: AUDIENCE, others: wanted.others.map(({ set }) => set) };
      for (const counter of [distinct, undefined, distinct]) {
        const composed = await sets.compose({ ...request, distinct: counter }, SLOT);
        expect({
          ...composed,
          attributes: byName(composed.attributes),
          others: byName(composed.others),
          events: byName(composed.events),
        }).toEqual({
          devices: held.size,
          matched: [...held].filter((one) => marketplace.has(one)).length,
          marketplaceDevices: counter ? marketplace.size : null,
          attributes: byName(shared(wanted.attributes)),
          others: byName(shared(wanted.others)),
          events: byName(shared(wanted.events).map(({ set, devices }) => ({ set, devices }))),
        });
      }
    }),
    { numRuns: 12 },
  );
});

it('of an audience that is not there still knows the marketplace', async () => {
  await database.db.dropDatabase();
  await ensureIndexes(database.db);
  const sets = createDeviceSets(database.db, { layout });
  await sets.add([{ set: 'attribute:1', slot: 0, devices: numberedDevices(0, 100) }], owner);
  const request = { set: AUDIENCE, others: ['audience:7:g1'], distinct: createDistinctCounter() };
  expect(await sets.compose(request, 0)).toEqual({
    devices: 0,
    matched: 0,
    marketplaceDevices: 100,
    attributes: [{ set: 'attribute:1', devices: 100, common: 0 }],
    others: [],
    events: [],
  });
});
