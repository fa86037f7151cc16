/**
 * 7. Devices are kept slot by slot, each with its keys, in pages. A merge writes new pages beside the old ones and then replaces the
 *    slot's manifest: all of it happens at once, or nothing. The manifest says which job of each partner was merged last and what it
 *    added, so a merge that is repeated after a crash changes nothing and tells the same numbers.
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
