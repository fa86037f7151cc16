/** Detects poison messages: crashes count by message, whatever precedes it and whichever process lost the partition in between. */
import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { createCrashStore } from '../../pipeline/stores/crashes.ts';
import { openDatabase } from '../sets/database.ts';

const database = openDatabase();
const STAGE = 'split';

/** A process that starts at offset 17, handles the messages before this one, takes it, and crashes. */
async function dieOf(partition: number, message: string) {
  const crashes = createCrashStore(database.db);
  if (!(await crashes.begin(STAGE, partition, '17', randomUUID()))) return undefined;
  for (let offset = 17; String(offset) !== message; offset++)
    expect(await crashes.take(STAGE, partition, String(offset))).toBe(0);
  return crashes.take(STAGE, partition, message);
}

it.each(['17', '19'])('counts deaths with message %s in hand', async (message) => {
  const partition = Number(message);
  const taken = [];
  for (let process = 0; process < 6; process++) taken.push(await dieOf(partition, message));
  // Counting starts with the third owner.
  expect(taken).toEqual([undefined, undefined, 0, 1, 2, 3]);
});

it('one that loses the partition instead of its life adds none, and forgets none', async () => {
  const crashes = createCrashStore(database.db);
  await crashes.release(STAGE, 19);
  expect(await crashes.begin(STAGE, 19, '17', 'alive')).toBe(true);
  await crashes.take(STAGE, 19, '17');
  await crashes.leave(STAGE, 19, 'alive');
  expect(await dieOf(19, '19')).toBe(3);
});

it('a partition that passes from one living owner to the next is never read carefully', async () => {
  const crashes = createCrashStore(database.db);
  for (let owner = 0; owner < 10; owner++) {
    expect(await crashes.begin(STAGE, 5, '17', `${owner}`)).toBe(false);
    await crashes.leave(STAGE, 5, `${owner}`);
  }
});

it('a partition that has moved on begins anew', async () => {
  const crashes = createCrashStore(database.db);
  expect(await crashes.begin(STAGE, 19, '20', 'another')).toBe(false);
  expect(await crashes.take(STAGE, 19, '20')).toBe(0);
});
