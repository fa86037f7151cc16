/**
 * 7. Devices are kept as sorted sets of 16 bytes each, cut into slots. Adding what is there already changes nothing, so a merge that
 *    is repeated after a crash ends the same; and it tells how many devices were new.
 */
import { expect, it } from 'vitest';
import { createDeviceSets } from '../../pipeline/sets/device-sets.ts';
import { setNames } from '../../schemas/documents.ts';
import { openDatabase } from '../sets/database.ts';
import { numberedDevices } from '../sets/devices.ts';

const database = openDatabase();
const set = setNames.attribute(5);
const SLOT = 3;
const isOurs = async () => true;

it('the second time, nothing is new', async () => {
  const sets = createDeviceSets(database.db);
  const addition = { set, slot: SLOT, devices: numberedDevices(0, 500) };
  expect(await sets.add([addition], isOurs)).toMatchObject([{ added: 500, count: 500 }]);
  expect(await sets.add([addition], isOurs)).toMatchObject([{ added: 0, count: 500 }]);
});

it('what overlaps counts once', async () => {
  const sets = createDeviceSets(database.db);
  const addition = { set, slot: SLOT, devices: numberedDevices(400, 700) };
  expect(await sets.add([addition], isOurs)).toMatchObject([{ added: 200, count: 700 }]);
  expect((await sets.read(set, SLOT)).length / 16).toBe(700);
});

it('a sink that does not own the slot any more writes nothing', async () => {
  const sets = createDeviceSets(database.db);
  const addition = { set, slot: SLOT, devices: numberedDevices(900, 950) };
  await expect(sets.add([addition], async () => false)).rejects.toThrow();
  expect((await sets.read(set, SLOT)).length / 16).toBe(700);
});
