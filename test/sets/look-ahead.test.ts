/** Matches that were looked up before a load is merged count as if they were looked up during the merge. */
import { beforeEach, expect, it } from 'vitest';
import { createDeviceSets } from '../../pipeline/sets/device-sets.ts';
import { noDevices } from '../../pipeline/sets/devices.ts';
import { ensureIndexes } from '../../pipeline/stores/indexes.ts';
import { spaces } from '../../schemas/documents.ts';
import { slotTarget } from '../support/slot-target.ts';
import { emptyDatabase, openDatabase, pagesOf } from './database.ts';
import { fromHex, keyed, numberedDevice, numberedDevices, onePart } from './devices.ts';

const database = openDatabase();
const tiny = { pageBytes: 128, regionBytes: 1_024, levelRatio: 3 };
const space = spaces.marketplace;
const slot = 5;
const matchIn = space;

beforeEach(async () => {
  await emptyDatabase(database.db);
  await ensureIndexes(database.db);
});

it('whatever is merged and removed between the look and the merge', async () => {
  let seed = 11;
  const random = (below: number) => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
    return (seed >>> 8) % below;
  };
  const some = (most: number) => new Set(Array.from({ length: random(most) }, () => random(1_000)));
  const toDevices = (numbers: Iterable<number>, key: number) => {
    const hex = [...numbers].map(numberedDevice);
    return hex.length === 0 ? noDevices : keyed({ devices: fromHex(hex), key });
  };
  const sets = createDeviceSets(database.db, { layout: tiny });
  const stored = new Map<number, Set<number>>();
  let last = 0;

  async function changeMarketplace(): Promise<void> {
    const job = ++last;
    const key = 1 + random(3);
    if (random(4) === 0) {
      await sets.removeKeys(slotTarget({ space, slot, job }), new Set([key]));
      for (const [device, keys] of stored) if (keys.delete(key) && keys.size === 0) stored.delete(device);
      return;
    }
    const added = some(random(3) === 0 ? 300 : 30);
    await sets.merge(slotTarget({ space, slot, job }), onePart(toDevices(added, key)));
    for (const device of added) stored.set(device, (stored.get(device) ?? new Set()).add(key));
  }

  for (let load = 0; load < 60; load++) {
    for (let n = random(3); n > 0; n--) await changeMarketplace();
    const wanted = some(200);
    const job = 1_000 + load;
    // Exactly the wanted devices, others, more, or none.
    const expected = [wanted, some(200), new Set([...wanted, ...some(100)]), new Set<number>()][random(4)]!;
    const looking = sets.lookAhead({ space, slot, job }, toDevices(expected, 0));
    if (random(2) === 0) await looking;
    for (let n = random(3); n > 0; n--) await changeMarketplace();
    const target = slotTarget({ space: spaces.audience(load + 1, 1), slot, job, matchIn });
    const { changes } = await sets.merge(target, onePart(toDevices(wanted, 1)));
    const matched = [...wanted].filter((device) => stored.has(device)).length;
    expect(changes[0]?.matched ?? 0, `load ${load}`).toBe(matched);
    await looking;
  }
});

it('what was found is not read again', async () => {
  const sets = createDeviceSets(database.db, { layout: tiny });
  const devices = (from: number, to: number) => keyed({ devices: numberedDevices(from, to), key: 1 });
  await sets.merge(slotTarget({ space, slot, job: 1 }), onePart(devices(0, 300)));
  await sets.lookAhead({ space, slot, job: 2 }, devices(250, 400));
  await pagesOf(database.db).deleteMany({});
  const target = slotTarget({ space: spaces.audience(1, 1), slot, job: 2, matchIn });
  const { changes } = await sets.merge(target, onePart(devices(250, 400)));
  expect(changes[0]).toMatchObject({ devices: 150, matched: 50 });
});
