/** Which message processes die of: counted over all of them, whoever lost the partition in between. */
import { expect, it } from 'vitest';
import { createCrashStore } from '../../pipeline/stores/crashes.ts';
import { openDatabase } from '../sets/database.ts';

const database = openDatabase();
const [STAGE, PARTITION, OFFSET] = ['split', 0, '17'] as const;

/** A process that starts at the message, takes it, and dies unless it releases it. */
async function start(crashes: ReturnType<typeof createCrashStore>, offset: string = OFFSET) {
  const isCareful = await crashes.begin(STAGE, PARTITION, OFFSET);
  return isCareful ? crashes.take(STAGE, PARTITION, offset) : undefined;
}

it('counts deaths with the message in hand, and forgets none when a partition is revoked', async () => {
  const crashes = createCrashStore(database.db);
  expect([await start(crashes), await start(crashes)]).toEqual([undefined, undefined]);
  expect([await start(crashes), await start(crashes)]).toEqual([0, 1]);
  await crashes.release(STAGE, PARTITION);
  expect(await start(crashes)).toBe(1);
  expect(await start(crashes)).toBe(2);
});

it('another message begins anew', async () => {
  const crashes = createCrashStore(database.db);
  expect(await start(crashes, '18')).toBe(0);
});
