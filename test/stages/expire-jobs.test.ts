/** Expired history is removed, and nothing that is still in use. */
import { Binary } from 'mongodb';
import { beforeEach, expect, it } from 'vitest';
import { createSetVersions } from '../../api/stores/set-versions.ts';
import { createLogger } from '../../pipeline/runtime/log.ts';
import { createExpireJobs } from '../../pipeline/stages/dispatch/housekeeping/expire-jobs.ts';
import { createRemoveJobs } from '../../pipeline/stages/dispatch/housekeeping/remove-jobs.ts';
import { ensureIndexes } from '../../pipeline/stores/indexes.ts';
import { createJobContexts } from '../../pipeline/stores/job-contexts.ts';
import { createJobStore } from '../../pipeline/stores/jobs/jobs.ts';
import { createStores } from '../../pipeline/stores/stores.ts';
import { collections } from '../../schemas/documents.ts';
import { type JobDocument, JobStatus } from '../../schemas/job-documents.ts';
import type { RejectsDocument } from '../../schemas/stage-documents.ts';
import { fillHistory } from '../load/fill-history.ts';
import { openDatabase } from '../sets/database.ts';
import { recordedStep } from '../support/recorded-step.ts';

const database = openDatabase();
const log = createLogger({ logLevel: 'silent' }, 'test');
const step = recordedStep('dispatch');
const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000);
const PARTNER = 'p-history';

const jobs = () => database.db.collection<JobDocument>(collections.jobs);
const rejects = () => database.db.collection<RejectsDocument>(collections.rejects);
const numbersIn = async (name: 'jobs' | 'files' | 'rejects') => {
  const field = name === 'jobs' ? '_id' : 'job';
  const found: number[] = await database.db.collection(collections[name]).distinct(field);
  return found.sort((a, b) => a - b);
};
const from = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, i) => first + i);
/** In the history, jobs whose ids end in 2 or 3 load an audience; ids ending in 5 are deletions, without files. */
const isLoad = (id: number) => [2, 3].includes(id % 10);
const hasFiles = (id: number) => id % 10 !== 5;

function createExpiry(stores = createStores(database.db)) {
  const removeJobs = createRemoveJobs(stores);
  return createExpireJobs({ ...stores, log, removeJobs, retentionDaysJobs: 365, retentionDaysRejects: 30 });
}

beforeEach(async () => {
  const { db } = database;
  await db.dropDatabase();
  await ensureIndexes(db);
  await fillHistory(db, PARTNER, 40, daysAgo(400));
  await fillHistory(db, PARTNER, 20, daysAgo(100));
  await fillHistory(db, PARTNER, 10, daysAgo(1));
  await rejects().insertMany(
    from(1, 70).map((job) => ({ _id: `${job}.0.0`, job, file: 0, batch: 0, rows: [] })),
  );
});

it('what the slots have found for a deletion does not expire before its job, which may be stopped for long', async () => {
  const { requestResults } = createStores(database.db);
  const found = { slot: 0, found: 1, spaces: ['m'] };
  for (const job of [5, 65]) await requestResults.store({ ...found, job });
  await requestResults.store({ ...found, job: 66, sealed: new Binary(Buffer.alloc(1)) });
  const results = database.db.collection(collections.requestResults);
  const expiring = (await results.indexes()).filter(({ expireAfterSeconds }) => expireAfterSeconds);
  const fields = expiring.flatMap(({ key }) => Object.keys(key));
  const mayExpire = (job: number) =>
    results.countDocuments({ job, $or: fields.map((field) => ({ [field]: { $exists: true } })) });
  expect(await Promise.all([5, 65, 66].map(mayExpire))).toEqual([0, 0, 1]);
  await createExpiry()(step);
  expect(await results.distinct('job')).toEqual([65, 66]);
});

it('expired jobs go with their files and rejected rows; loads of living generations stay', async () => {
  await createExpiry()(step);
  const stay = [...from(1, 40).filter(isLoad), ...from(41, 70)];
  expect(await numbersIn('jobs')).toEqual(stay);
  expect(await numbersIn('files')).toEqual(stay.filter(hasFiles));
  expect(await numbersIn('rejects')).toEqual(from(61, 70));
});

it('nothing goes from the first unfinished job on, nor the newest job, however old they are', async () => {
  await jobs().updateMany({}, { $set: { updatedAt: daysAgo(800) } });
  await jobs().updateOne({ _id: 65 }, { $set: { phase: 'listed' } });
  await createExpiry()(step);
  expect(await numbersIn('jobs')).toEqual([...from(1, 64).filter(isLoad), ...from(65, 70)]);
  await jobs().updateOne({ _id: 65 }, { $set: { phase: 'ended' } });
  await createExpiry()(step);
  expect(await numbersIn('jobs')).toEqual([...from(1, 69).filter(isLoad), 70]);
  expect(await createJobStore(database.db).highestNumber()).toBe(70);
  expect(await createStores(database.db).jobs.extent()).toEqual({ first: 71, newest: 70 });
});

it('interrupted before any write, it is completed by the next run', async () => {
  const stores = createStores(database.db);
  const fail = async () => {
    throw new Error('killed');
  };
  const interrupted = [
    { ...stores, rejects: { ...stores.rejects, removeOf: fail } },
    { ...stores, files: { ...stores.files, removeOf: fail } },
    { ...stores, jobs: { ...stores.jobs, remove: fail } },
  ];
  for (const broken of interrupted)
    await expect(createExpiry(broken as never)(step)).rejects.toThrow('killed');
  await createExpiry()(step);
  const stay = [...from(1, 40).filter(isLoad), ...from(41, 70)];
  expect(await numbersIn('jobs')).toEqual(stay);
  expect(await numbersIn('files')).toEqual(stay.filter(hasFiles));
});

it('what sets have become does not look older when the jobs that changed them are gone', async () => {
  const versions = createSetVersions(database.db);
  const filled = await versions.ended(PARTNER);
  await jobs().deleteMany({ _id: { $gt: 40 } });
  await jobs().insertOne({ _id: 41, kind: 'import', phase: 'accepted' } as JobDocument);
  await database.db.collection(collections.audiences).updateMany({}, { $set: { generation: 2 } });
  const changing = { _id: { $in: [32, 33, 40] } };
  await jobs().updateMany(changing, { $set: { phase: 'decided' } });
  const outcome = { status: JobStatus.done, uniqueDevices: 1, rows: 1, errors: null };
  const decided = await jobs().find(changing).toArray();
  await createStores(database.db).jobs.end(decided.map((job) => ({ job, outcome })));
  await jobs().updateMany(changing, { $set: { updatedAt: daysAgo(400) } });
  const before = await versions.ended(PARTNER);
  expect(before).toEqual({ marketplace: filled.marketplace + 1, loads: filled.loads + 2 });
  await createExpiry()(step);
  expect(await numbersIn('jobs')).toEqual([41]);
  expect(await versions.ended(PARTNER)).toEqual(before);
});

it('a late message of a removed job is dropped at once; that of a job that is not seen yet waits', async () => {
  await createExpiry()(step);
  const contexts = createJobContexts(database.db);
  expect(await contexts.get(1, 0)).toBeNull();
  await expect(contexts.get(71, 0)).rejects.toThrow('not there yet');
});
