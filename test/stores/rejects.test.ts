/** Kept rejected rows of deleted devices. */
import { expect, it } from 'vitest';
import { ERASED } from '../../pipeline/formats/find-identifiers.ts';
import { parseRows } from '../../pipeline/formats/parse-rows.ts';
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

it('of a row that is kept in part, nothing of a deleted identifier is left, wherever it is cut', async () => {
  const rejects = createRejectStore(database.db);
  const devices = Array.from({ length: 70 }, (_, n) => numberedDevice(1_000 + n));
  const text = devices.map((device, n) => `${'x'.repeat(160 + n)}${device},no device\n`).join('');
  const batch = { rows: Buffer.from(text), first_line: 1, delimiter: 0x2c, layout: 'audience' } as const;
  const { rejects: rows } = parseRows(batch, { maxRejects: 100 });
  expect(rows).toHaveLength(devices.length);
  await rejects.keep({ job: 2, file: 0, batch: 0, rows, hashes: [7] }, 100);
  await rejects.erase([7], (identifier) => devices.includes(identifier), undefined);
  const [stored] = await rejects.ofJob(2).toArray();
  for (const { raw } of stored!.rows) expect([ERASED, '']).toContain(raw.replaceAll('x', ''));
});
