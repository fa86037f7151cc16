import { expect, it } from 'vitest';
import { ensureIndexes } from '../../pipeline/stores/indexes.ts';
import { setNames } from '../../schemas/documents.ts';
import { createCountedSets } from '../support/counted-sets.ts';
import { openDatabase } from './database.ts';
import { randomDevices } from './devices.ts';

const database = openDatabase();
const owner = async () => true;
const slots = 16;

/** Bytes on disk, after a checkpoint. */
async function storedBytes(): Promise<number> {
  await database.db.admin().command({ fsync: 1 });
  const [chunks, manifests] = await Promise.all(
    ['chunks', 'manifests'].map((name) => database.db.command({ collStats: name })),
  );
  return chunks!.totalSize + manifests!.totalSize;
}

it.each([1, 10, 100])(
  'a million devices, loaded in %i jobs, take 24 bytes each at the most',
  async (jobs) => {
    const sets = createCountedSets(database.db);
    await ensureIndexes(database.db);
    const set = setNames.attribute(jobs);
    for (let job = 0; job < jobs; job++) {
      const additions = Array.from({ length: slots }, (_, slot) => ({
        set,
        slot,
        devices: randomDevices(1_000_000 / jobs / slots, job * slots + slot + 1),
      }));
      await sets.add(additions, owner);
    }
    expect(await sets.count(set)).toBe(1_000_000);
    const bytes = (await storedBytes()) / 1_000_000;
    console.info(`${jobs} jobs: ${bytes.toFixed(1)} bytes a device on disk`);
    expect(bytes).toBeLessThanOrEqual(24);
    await database.db.dropDatabase();
  },
);
