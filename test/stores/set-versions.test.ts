import { beforeAll, expect, it } from 'vitest';
import { createSetVersions } from '../../api/stores/set-versions.ts';
import { ensureIndexes } from '../../pipeline/stores/indexes.ts';
import { collections } from '../../schemas/documents.ts';
import type { JobDocument } from '../../schemas/job-documents.ts';
import { openDatabase } from '../sets/database.ts';
import { endJobs, insertEnded } from '../support/end-jobs.ts';

const database = openDatabase();
const jobs = () => database.db.collection<JobDocument>(collections.jobs);
const versions = () => createSetVersions(database.db);
beforeAll(() => ensureIndexes(database.db));

const load = (_id: number, partner: string, audience: number, phase = 'ended') => ({
  _id,
  kind: 'audience',
  partner,
  audience,
  phase,
});
const job = (_id: number, kind: 'import' | 'delete', phase = 'ended') => ({ _id, kind, partner: 'q', phase });

it('says how much has ended, by side, and who is merging', async () => {
  expect(await versions().ended('p')).toEqual({ marketplace: 0, loads: 0 });
  await insertEnded(database.db, [
    job(1, 'import'),
    job(2, 'delete'),
    load(3, 'p', 3),
    load(4, 'q', 4),
  ] as JobDocument[]);
  await jobs().insertMany([
    job(5, 'import', 'withdrawn'),
    load(6, 'p', 3, 'decided'),
    job(7, 'import', 'decided'),
    job(8, 'import', 'listed'),
    job(9, 'import', 'accepted'),
  ] as JobDocument[]);
  const ended = { marketplace: 2, loads: 1 };
  const merging = { marketplace: true, loads: true, own: true };
  expect(await versions().of('p', 3)).toEqual({ ended, merging });
  expect(await versions().of('p', 99)).toEqual({ ended, merging: { ...merging, own: false } });
  expect(await versions().of('q', 4)).toEqual({ ended, merging: { ...merging, loads: false, own: false } });
  await endJobs(database.db, [7, 6]);
  const none = { marketplace: false, loads: false, own: false };
  expect(await versions().of('p', 3)).toEqual({ ended: { marketplace: 3, loads: 2 }, merging: none });
  // An older job may still be loading, but another partner's job does not wait for it.
  await jobs().updateOne({ _id: 9 }, { $set: { phase: 'decided' } });
  expect((await versions().of('p', 3)).merging).toEqual({ ...none, marketplace: true });
});

it('does not count backwards when ended jobs are removed', async () => {
  const before = await versions().ended('p');
  await jobs().deleteMany({ phase: 'ended' });
  expect(await versions().ended('p')).toEqual(before);
});
