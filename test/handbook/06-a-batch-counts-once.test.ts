/**
 * 6. Kafka delivers messages at least once, so a batch may be validated twice. The ledger has one document per batch, and the first
 *    writer wins: rows count once. A file is complete when its batches run from 0 to the last without gaps.
 */
import { Binary } from 'mongodb';
import { expect, it } from 'vitest';
import { noTotals, packTotals } from '../../pipeline/formats/slot-totals.ts';
import { countBatch, noBatches } from '../../pipeline/stages/dispatch/load/tally-files.ts';
import { createLedgerStore, type LedgerEntry } from '../../pipeline/stores/ledger.ts';
import { openDatabase } from '../sets/database.ts';

const database = openDatabase();
const ROWS = 100;

const entry = (batch: number, last = false): LedgerEntry => ({
  job: 1,
  attempt: 0,
  file: 0,
  batch,
  last,
  start: batch * 1_000,
  end: (batch + 1) * 1_000,
  firstLine: 1 + batch * ROWS,
  lines: ROWS,
  delimiter: 0x2c,
  rows: ROWS,
  accepted: ROWS,
  pairsRead: ROWS,
  pairs: ROWS,
  rejected: {},
  slots: new Binary(packTotals(noTotals())),
});
const file = { job: 1, attempt: 0, file: 0 };

it('however often and in whatever order batches are recorded', async () => {
  const ledger = createLedgerStore(database.db);
  for (const batch of [1, 0, 1, 0, 0]) await ledger.record(entry(batch));
  const tally = noBatches();
  // However often the ledger is read, a batch counts once.
  for (let look = 0; look < 2; look++)
    for await (const batch of ledger.batchesOf([
      { job: 1, attempt: 0, isWhole: true, files: [{ file: 0, from: 0 }] },
    ]))
      countBatch(tally, batch);
  expect(tally).toMatchObject({ joined: 2, rows: 2 * ROWS, lastBatch: -1 });
});

it('a split that starts again goes on behind what is recorded, until the last batch is', async () => {
  const ledger = createLedgerStore(database.db);
  expect(await ledger.resumePoint(file)).toMatchObject({ batch: 1, end: 2_000 });
  await ledger.record(entry(2, true));
  expect(await ledger.resumePoint(file)).toBe('complete');
});
