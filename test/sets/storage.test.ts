import { it } from 'vitest';
import { createDeviceSets } from '../../pipeline/sets/device-sets.ts';
import { ensureIndexes } from '../../pipeline/stores/indexes.ts';
import { spaces } from '../../schemas/documents.ts';
import { DEFAULT_SLOTS } from '../../schemas/topics.ts';
import { eventually } from '../support/eventually.ts';
import { slotTarget } from '../support/slot-target.ts';
import { emptyDatabase, openDatabase } from './database.ts';
import { keyed, onePart, randomDevices } from './devices.ts';

const database = openDatabase();
const DEVICES = 1_000_000;

/** Bytes in use after a checkpoint, without free blocks. */
async function storedBytes(): Promise<number> {
  await database.db.admin().command({ fsync: 1 });
  const sizes = await Promise.all(
    ['pages', 'manifests'].map((name) => database.db.command({ collStats: name })),
  );
  return sizes.reduce((sum, { totalSize, freeStorageSize }) => sum + totalSize - freeStorageSize, 0);
}

/** Attribute ids as large as in a large marketplace. */
const key = (n: number) => 1_000_000 + n;

it.each([
  [1, 22],
  [2, 26],
  [5, 38],
])('a device with %i keys takes %i bytes at most, indexes included', async (keys, most) => {
  const sets = createDeviceSets(database.db);
  await emptyDatabase(database.db);
  await ensureIndexes(database.db);
  for (let slot = 0; slot < DEFAULT_SLOTS; slot++) {
    const devices = randomDevices(DEVICES / DEFAULT_SLOTS, slot + 1);
    const all = keyed(...Array.from({ length: keys }, (_, n) => ({ devices, key: key(1_000 * n) })));
    await sets.merge(slotTarget({ space: spaces.marketplace, slot, job: 1 }), onePart(all));
  }
  // Blocks that a concurrent checkpoint wrote twice are free after the next one.
  await eventually(async () => {
    const bytes = (await storedBytes()) / DEVICES;
    console.info(`${keys} keys: ${bytes.toFixed(1)} bytes a device on disk`);
    return bytes;
  }).toBeLessThanOrEqual(most);
});
