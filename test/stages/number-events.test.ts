import { Binary } from 'mongodb';
import { beforeAll, expect, it } from 'vitest';
import { createNumberEvents } from '../../pipeline/stages/dispatch/commit/number-events.ts';
import { createEventValueStore } from '../../pipeline/stores/event-values.ts';
import { createFileStore, fileId } from '../../pipeline/stores/files.ts';
import { ensureIndexes } from '../../pipeline/stores/indexes.ts';
import { collections } from '../../schemas/documents.ts';
import type { FileDocument, JobDocument, JobVerdict } from '../../schemas/job-documents.ts';
import { openDatabase } from '../sets/database.ts';
import { recordedStep } from '../support/recorded-step.ts';
import { aJob } from '../support/recording-environment.ts';

const database = openDatabase();
beforeAll(() => ensureIndexes(database.db));

/** A decided load whose files contain these values. Null: a failed file. */
async function load(_id: number, audience: number, files: (string[] | null)[]): Promise<JobDocument> {
  const listing = `${_id}-l`;
  const documents = files.map((values, number) => ({
    _id: fileId(listing, number),
    job: _id,
    listing,
    number,
    status: values ? 2 : 3,
    events: (values ?? ['of a failed file']).map((event) => ({ event, rows: 1 })),
  }));
  if (documents.length > 0)
    await database.db.collection<FileDocument>(collections.files).insertMany(documents as FileDocument[]);
  const verdict: JobVerdict = {
    passed: [],
    collapsed: [],
    attempt: 0,
    hasEvents: true,
    expected: new Binary(),
  };
  return aJob({ _id, audience, listing, phase: 'decided', verdict });
}

/** Runs in a new dispatcher, without caches. */
async function number(jobs: JobDocument[]): Promise<string[]> {
  const actions: string[] = [];
  const stores = { files: createFileStore(database.db), eventValues: createEventValueStore(database.db) };
  await createNumberEvents(stores)(jobs, recordedStep('dispatch', actions));
  return actions;
}
const valuesOf = async (audience: number) => [
  ...(await createEventValueStore(database.db).valuesOf(audience, 1)).values(),
];
const many = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `value ${from + i}`);

it('values are numbered in the order of the files, of those that were loaded', async () => {
  const first = await load(1, 1, [['b', 'c'], null, ['', 'a', 'c'], ['(other)']]);
  const other = await load(2, 2, [['a']]);
  await number([first, other]);
  await number([await load(3, 1, [['0', 'a']])]);
  expect([await valuesOf(1), await valuesOf(2)]).toEqual([
    ['(other)', 'b', 'c', 'a', '0'],
    ['(other)', 'a'],
  ]);
});

it('of more than 10,000 values the first are kept; whoever does it again after a later load changes nothing', async () => {
  const files = (from: number, to: number) =>
    Array.from({ length: (to - from) / 500 }, (_, i) => many(from + i * 500, from + (i + 1) * 500));
  const loads = [await load(11, 11, files(0, 7_000)), await load(12, 11, files(6_500, 20_000))];
  await number([loads[0]!]);
  await number([loads[1]!]);
  const kept = ['(other)', ...many(0, 10_000)];
  expect(await valuesOf(11)).toEqual(kept);
  await number([loads[0]!]);
  await number([loads[1]!]);
  expect(await valuesOf(11)).toEqual(kept);
});

it('a job without values costs nothing', async () => {
  const job = await load(21, 21, [['', '(other)']]);
  const verdict = { ...job.verdict!, hasEvents: undefined };
  expect(await number([{ ...job, verdict }])).toEqual([]);
  expect(await number([job])).toEqual(['number-events']);
});
