/** Kept rejected rows of deleted devices. */
import { expect, it } from 'vitest';
import { ERASED } from '../../pipeline/formats/find-identifiers.ts';
import { createRejectStore } from '../../pipeline/stores/rejects.ts';
import { openDatabase } from '../sets/database.ts';
import { numberedDevice } from '../sets/devices.ts';

const database = openDatabase();

it('slots that erase rows of the same document at the same time undo nothing of each other', async () => {
  const rejects = createRejectStore(database.db);
  const numbers = Array.from({ length: 40 }, (_, n) => n);
  const rows = numbers.map((line) => ({ line, code: 'unknown_key' as const, raw: numberedDevice(line) }));
  await rejects.keep({ job: 1, file: 0, batch: 0, rows, hashes: numbers }, 100);
  const erased = numbers.slice(1);
  const erase = (n: number) =>
    rejects.erase([n], (identifier) => identifier === numberedDevice(n), undefined);
  await Promise.all(erased.map(erase));
  const [stored] = await rejects.ofJob(1).toArray();
  const raw = [numberedDevice(0), ...erased.map(() => ERASED)];
  expect(stored!.rows.map((row) => row.raw)).toEqual(raw);
});
