/** Where a split resumes: after the gapless run of batches, found without reading all of them. */
import type { Document } from 'mongodb';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { ensureIndexes } from '../../pipeline/stores/indexes.ts';
import { createLedgerStore } from '../../pipeline/stores/ledger.ts';
import { collections } from '../../schemas/documents.ts';
import { openDatabase } from '../sets/database.ts';
import { commandsOf, largestOf } from '../support/command-log.ts';

const database = openDatabase();
const file = { job: 1, attempt: 0, file: 0 };
const entry = (batch: number, more: Document = {}) => {
  const fields = { ...file, batch, last: false, end: batch * 10, rejected: {}, ...more };
  return { _id: `${fields.job}.${fields.attempt}.${fields.file}.${batch}`, ...fields };
};
const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

const ledgerDocuments = () => database.db.collection<{ _id: string } & Document>(collections.ledger);
beforeAll(() => ensureIndexes(database.db));
beforeEach(() => ledgerDocuments().deleteMany({}));

it.each([
  ['nothing is recorded', [], null],
  ['the first batch is missing', [1, 2, 3], null],
  ['only the first is there', [0], 0],
  ['no gap', numbers(0, 9), 8],
  ['a gap behind the first', [0, ...numbers(2, 40)], 0],
  ['a gap in the middle', [...numbers(0, 21), ...numbers(22, 70)], 20],
  ['several gaps', [...numbers(0, 33), ...numbers(34, 36), ...numbers(38, 90)], 32],
])('%s', async (_, batches, last) => {
  // Other attempts, files and jobs have the batches that this one lacks.
  const others = [{ attempt: 1 }, { file: 1 }, { job: 2 }];
  const all = others.flatMap((other) => numbers(0, 100).map((batch) => entry(batch, other)));
  await ledgerDocuments().insertMany([...all, ...batches.map((batch) => entry(batch))]);
  const resume = await createLedgerStore(database.db).resumePoint(file);
  expect(resume).toEqual(last === null ? null : expect.objectContaining({ batch: last, end: last * 10 }));
});

it('complete when the last batch joins, and not while one before it is missing', async () => {
  const { resumePoint } = createLedgerStore(database.db);
  await ledgerDocuments().insertMany([...numbers(0, 20), ...numbers(21, 30)].map((batch) => entry(batch)));
  await ledgerDocuments().insertOne(entry(30, { last: true }));
  expect(await resumePoint(file)).toMatchObject({ batch: 19 });
  await ledgerDocuments().insertOne(entry(20));
  expect(await resumePoint(file)).toBe('complete');
});

it('a failure behind a gap does not make the file complete: what is missing is sent', async () => {
  const { resumePoint } = createLedgerStore(database.db);
  const failure = { code: 'column_count', message: 'three columns' };
  await ledgerDocuments().insertMany([entry(0), entry(2, { failure })]);
  expect(await resumePoint(file)).toMatchObject({ batch: 0 });
  await ledgerDocuments().insertOne(entry(1));
  expect(await resumePoint(file)).toBe('complete');
});

it('reads a document or two, however many batches the file has', async () => {
  await ledgerDocuments().insertMany(numbers(0, 5_000).map((batch) => entry(batch)));
  const { resumePoint } = createLedgerStore(database.db);
  const commands = await commandsOf(database.db, async () =>
    expect(await resumePoint(file)).toMatchObject({ batch: 4_999 }),
  );
  expect(largestOf(commands)).toBe(1);
  const { executionStats } = await ledgerDocuments()
    .find({ ...file, batch: { $gte: 1, $lt: 4_000 } })
    .project({ _id: 0, batch: 1 })
    .explain();
  expect(executionStats).toMatchObject({ totalDocsExamined: 0, totalKeysExamined: 3_999 });
});
