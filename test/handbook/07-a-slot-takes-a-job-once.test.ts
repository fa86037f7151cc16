/**
 * 7. A slot keeps its devices, each with its keys, in pages. A merge writes new pages beside the old ones and then replaces the
 *    slot's manifest, so it is atomic. The manifest records the last merged job of each partner and what it added, so repeating a
 *    merge after a crash changes nothing and returns the same counts.
 */
import { expect, it } from 'vitest';
import { createDeviceSets } from '../../pipeline/sets/device-sets.ts';
import { spaces } from '../../schemas/documents.ts';
import { openDatabase } from '../sets/database.ts';
import { keyed, numberedDevices, onePart } from '../sets/devices.ts';
import { slotTarget } from '../support/slot-target.ts';

const database = openDatabase();
const space = spaces.audience(5, 1);
const slot = 3;
const devices = (from: number, to: number) => onePart(keyed({ devices: numberedDevices(from, to) }));

it('the second time, the first answer', async () => {
  const sets = createDeviceSets(database.db);
  const target = slotTarget({ space, slot, job: 1 });
  for (let time = 1; time <= 2; time++)
    expect(await sets.merge(target, devices(0, 500))).toMatchObject({
      total: 500,
      changes: [{ job: 1, devices: 500 }],
    });
});

it('what overlaps counts once', async () => {
  const sets = createDeviceSets(database.db);
  const { total, changes } = await sets.merge(slotTarget({ space, slot, job: 2 }), devices(400, 700));
  expect([total, changes]).toMatchObject([700, [{ job: 2, devices: 200 }]]);
});

it('a sink that was replaced, and merges an earlier job, changes nothing', async () => {
  const sets = createDeviceSets(database.db);
  expect(await sets.merge(slotTarget({ space, slot, job: 1 }), devices(900, 950))).toMatchObject({
    total: 700,
  });
  expect(await sets.count(space)).toBe(700);
});

it('the jobs of another partner have an order of their own', async () => {
  const sets = createDeviceSets(database.db);
  const marketplace = { space: spaces.marketplace, slot };
  await sets.merge(slotTarget({ ...marketplace, job: 4, partner: 'p' }), devices(0, 100));
  const earlier = slotTarget({ ...marketplace, job: 3, partner: 'q' });
  expect(await sets.merge(earlier, devices(50, 150))).toMatchObject({ total: 150 });
});
