import { beforeAll, expect, it } from 'vitest';
import { createSetVersions } from '../../api/stores/set-versions.ts';
import { ensureIndexes } from '../../pipeline/stores/indexes.ts';
import { collections, type JobDocument } from '../../schemas/documents.ts';
import { openDatabase } from '../sets/database.ts';

const database = openDatabase();
const jobs = () => database.db.collection<JobDocument>(collections.jobs);
const versions = () => createSetVersions(database.db);
beforeAll(() => ensureIndexes(database.db));

const load = (_id: number, partner: string, audience: number, phase: string) => ({
  _id,
  kind: 'audience',
  partner,
  audience,
  phase,
});
const job = (_id: number, kind: 'import' | 'delete', phase: string) => ({ _id, kind, partner: 'q', phase });

it('says what has ended, by side, and who is merging', async () => {
  expect(await versions().ended('p')).toEqual({ marketplace: 0, loads: 0 });
  await jobs().insertMany([
    job(1, 'import', 'ended'),
    job(2, 'delete', 'ended'),
    load(3, 'p', 3, 'ended'),
    load(4, 'q', 4, 'ended'),
    job(5, 'import', 'withdrawn'),
    load(6, 'p', 3, 'decided'),
    job(7, 'import', 'decided'),
    job(8, 'import', 'listed'),
    job(9, 'import', 'accepted'),
  ] as unknown as JobDocument[]);
  const ended = { marketplace: 2, loads: 3 };
  const merging = { marketplace: true, loads: true, own: true };
  expect(await versions().of('p', 3)).toEqual({ ended, merging });
  expect(await versions().of('p', 99)).toEqual({ ended, merging: { ...merging, own: false } });
  expect(await versions().of('q', 4)).toEqual({
    ended: { marketplace: 2, loads: 4 },
    merging: { marketplace: true, loads: false, own: false },
  });
  await jobs().updateMany({ phase: 'decided' }, { $set: { phase: 'ended' } });
  // It waits for the one before it.
  await jobs().updateOne({ _id: 9 }, { $set: { phase: 'decided' } });
  expect(await versions().of('p', 3)).toEqual({
    ended: { marketplace: 7, loads: 6 },
    merging: { marketplace: false, loads: false, own: false },
  });
});

it('is read from an index, however many jobs of other kinds have ended or wait', async () => {
  await jobs().deleteMany({});
  const many = [
    job(1, 'import', 'ended'),
    ...Array.from({ length: 2_000 }, (_, i) => load(2 + i, 'q', 4, 'ended')),
    ...Array.from({ length: 2_000 }, (_, i) => job(3_000 + i, 'import', 'accepted')),
  ];
  await jobs().insertMany(many as unknown as JobDocument[]);
  expect(await versions().ended('p')).toEqual({ marketplace: 1, loads: 0 });
  const explained = await jobs()
    .find({ kind: 'import', _id: { $lt: 3_000 }, phase: 'ended' }, { hint: 'by_kind' })
    .sort({ _id: -1 })
    .limit(1)
    .explain('executionStats');
  expect(explained.executionStats.totalDocsExamined).toBeLessThan(10);
});
