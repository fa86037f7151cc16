import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createDeviceSets } from '../../pipeline/sets/device-sets.ts';
import { ensureIndexes } from '../../pipeline/stores/indexes.ts';
import { setNames } from '../../schemas/documents.ts';
import { openDatabase } from './database.ts';
import { numberedDevices, toHex } from './devices.ts';

const database = openDatabase();
const owner = async () => true;
const layout = { inlineDevices: 4, chunkDevices: 64, smallChunks: 3 };

it('is what plain Sets give, for attributes of every size, in its own slot only', async () => {
  const range = fc.record({ from: fc.nat(300), length: fc.nat(200) });
  let audience = 0;
  await fc.assert(
    fc.asyncProperty(range, fc.array(range, { maxLength: 8 }), async (own, others) => {
      await database.db.dropDatabase();
      const sets = createDeviceSets(database.db, { layout });
      await ensureIndexes(database.db);
      const set = setNames.audience(++audience, 1);
      const devicesOf = ({ from, length }: { from: number; length: number }) =>
        numberedDevices(from, from + length);
      await sets.add([{ set, slot: 4, devices: devicesOf(own) }], owner);
      await sets.add(
        others.flatMap((other, i) => [
          { set: setNames.attribute(i), slot: 4, devices: devicesOf(other) },
          { set: setNames.attribute(i), slot: 5, devices: devicesOf(own) },
        ]),
        owner,
      );
      const held = toHex(devicesOf(own));
      const attributes = others.map((other) => new Set(toHex(devicesOf(other))));
      const byAttribute = attributes
        .map((attribute, i) => ({
          set: setNames.attribute(i),
          count: held.filter((hex) => attribute.has(hex)).length,
        }))
        .filter(({ count }) => count > 0);
      const matched = held.filter((hex) => attributes.some((attribute) => attribute.has(hex))).length;
      const overlap = await sets.overlap(set, 4);
      expect({ ...overlap, byAttribute: new Set(overlap.byAttribute) }).toEqual({
        devices: held.length,
        matched,
        byAttribute: new Set(byAttribute),
      });
    }),
    { numRuns: 25 },
  );
});

it('of a set that is not there is nothing', async () => {
  const sets = createDeviceSets(database.db, { layout });
  expect(await sets.overlap('audience:404:g1', 0)).toEqual({ devices: 0, matched: 0, byAttribute: [] });
});

it('does not see a dropped attribute', async () => {
  const sets = createDeviceSets(database.db, { layout });
  const set = setNames.audience(9_999, 1);
  await sets.add(
    ['attribute:901', 'attribute:902', set].map((name) => ({
      set: name,
      slot: 8,
      devices: numberedDevices(0, 100),
    })),
    owner,
  );
  await sets.drop(['attribute:901'], 8, owner);
  expect(await sets.overlap(set, 8)).toEqual({
    devices: 100,
    matched: 100,
    byAttribute: [{ set: 'attribute:902', count: 100 }],
  });
  await sets.drop(['attribute:902'], 8, owner);
  expect(await sets.overlap(set, 8)).toEqual({ devices: 100, matched: 0, byAttribute: [] });
});
