/** Jobs are decided in lane order, and each end gets its number once, without gaps. */

import { Binary } from 'mongodb';
import { beforeEach, expect, it } from 'vitest';
import { numbered } from '../../pipeline/accept/new-job.ts';
import { createCounterStore } from '../../pipeline/stores/counters.ts';
import { ensureIndexes } from '../../pipeline/stores/indexes.ts';
import { jobCollection } from '../../pipeline/stores/jobs/job-collection.ts';
import { createJobStore, type Decision } from '../../pipeline/stores/jobs/jobs.ts';
import { type JobDocument, JobStatus } from '../../schemas/job-documents.ts';
import { createGate, emptyDatabase, openDatabase } from '../sets/database.ts';

const database = openDatabase();
const jobs = () => createJobStore(database.db);
beforeEach(async () => {
  await emptyDatabase(database.db);
  await ensureIndexes(database.db);
});

const request = { kind: 'import', filePath: 'a', pathType: 0, keyType: 0, compressed: null } as const;
const job = (id: number, more: Partial<JobDocument> = {}): JobDocument => ({
  ...numbered({ ...request, partner: 'p' }, id, 0, new Date()),
  phase: 'decided',
  ...more,
});
const store = async (...some: JobDocument[]) => {
  await jobCollection(database.db).insertMany(some);
  return some;
};
const outcome = { status: JobStatus.done, uniqueDevices: 1, rows: 1, errors: null };
const endings = (some: JobDocument[]) => some.map((one) => ({ job: one, outcome }));
const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, i) => first + i);
const numbersOf = (some: JobDocument[]) => some.map(({ endNumber }) => endNumber);

it('ends are numbered in the order in which they are given, and credentials are gone', async () => {
  const [first, second, third] = (await store(job(1, { credentials: new Binary() }), job(2), job(3))) as [
    JobDocument,
    JobDocument,
    JobDocument,
  ];
  const ended = await jobs().end(endings([third, first]));
  expect(ended).toMatchObject([
    { _id: 3, phase: 'ended', endNumber: 1, status: 2 },
    { _id: 1, phase: 'ended', endNumber: 2 },
  ]);
  expect(ended[1]).not.toHaveProperty('credentials');
  expect(await jobs().find(1)).toEqual(ended[1]);
  // Jobs that have ended keep their number.
  expect(numbersOf(await jobs().end(endings([first, second, third])))).toEqual([2, 3, 1]);
  expect(await createCounterStore(database.db).countEnds()).toBe(3);
});

it('dispatchers that end overlapping jobs at the same time number each end once, without gaps', async () => {
  const all = await store(...range(1, 60).map((id) => job(id, { partner: `p-${id % 3}` })));
  const groups = range(0, 11).map((i) => all.slice(5 * i, 5 * i + 10));
  const dispatchers = [groups, groups.toReversed()].map(async (order) => {
    for (const group of order) await jobs().end(endings(group));
  });
  await Promise.all(dispatchers);
  const stored = await jobCollection(database.db).find().toArray();
  expect(numbersOf(stored).toSorted((a, b) => a! - b!)).toEqual(range(1, 60));
  const counters = createCounterStore(database.db);
  expect([await counters.countEnds(), await counters.endsChanging('p-0')]).toEqual([
    60,
    { marketplace: 60, loads: 0 },
  ]);
});

it('a job that was dropped meanwhile is not ended with the outcome of its merge', async () => {
  const [before, other] = (await store(job(1), job(2))) as [JobDocument, JobDocument];
  await jobCollection(database.db).updateOne({ _id: 1 }, { $set: { dropRequested: true } });
  const [dropped, ended] = await jobs().end(endings([before, other]));
  expect(dropped).toMatchObject({ phase: 'decided', dropRequested: true });
  expect(ended).toMatchObject({ phase: 'ended', endNumber: 1 });
});

it('nothing ends before it is counted, or if counting fails', async () => {
  const [only] = (await store(job(1))) as [JobDocument];
  const failing = Promise.reject(new Error('not counted'));
  failing.catch(() => {});
  await expect(jobs().end(endings([only]), failing)).rejects.toThrow('not counted');
  const counting = createGate();
  const ending = jobs().end(endings([only]), counting.wait());
  await counting.reached;
  expect(await jobs().find(1)).toMatchObject({ phase: 'decided' });
  expect(await createCounterStore(database.db).countEnds()).toBe(0);
  counting.open();
  expect(await ending).toMatchObject([{ phase: 'ended', endNumber: 1 }]);
});

const decision: Decision = {
  verdict: { passed: [], collapsed: [], attempt: 0, expected: new Binary(Buffer.alloc(0)) },
  rows: 1,
  accepted: 1,
  rejected: {},
  filesDone: 1,
  errors: null,
};
const decide = (some: JobDocument[], more: Partial<Decision> = {}) =>
  jobs().decide(
    some.map(({ _id, partner }) => ({ id: _id, lane: partner, outcome: { ...decision, ...more } })),
  );
const phasesOf = (some: JobDocument[]) => some.map(({ phase }) => phase);
const listed = (id: number, partner: string, more: Partial<JobDocument> = {}) =>
  job(id, { partner, phase: 'listed', ...more });

it.each([
  ['to be cancelled', { cancelRequested: true }],
  ['at its next attempt', { attempt: 1 }],
] as const)('a job that is %s holds those behind it in its lane, and no others', async (_, more) => {
  const all = await store(
    listed(1, 'p'),
    listed(2, 'q'),
    listed(3, 'p', more),
    listed(4, 'q'),
    listed(5, 'p'),
  );
  const decided = await decide(all);
  expect(phasesOf(decided)).toEqual(['decided', 'decided', 'listed', 'decided', 'listed']);
  expect(await jobCollection(database.db).find().sort({ _id: 1 }).toArray()).toEqual(decided);
});

it.each([
  ['to be cancelled', { cancelRequested: true }],
  ['at its next attempt', { attempt: 1 }],
  ['withdrawn', { phase: 'withdrawn' }],
] as const)('a single job that is %s is not decided', async (_, more) => {
  const given = await store(listed(1, 'p', more));
  const before = await jobs().find(1);
  expect(await decide(given)).toEqual([before]);
  expect(await jobs().find(1)).toEqual(before);
});

it('a job is decided in the same way alone and with others', async () => {
  const startedAt = new Date(1_000);
  const [alone, first] = await store(
    listed(1, 'p', { startedAt, attempt: 1 }),
    listed(2, 'p', { startedAt }),
    listed(3, 'p'),
  );
  const verdict = { ...decision.verdict, attempt: 1 };
  const [single] = await decide([alone!], { verdict });
  const [grouped] = await decide([first!, (await jobs().find(3))!]);
  const timeless = ({
    decidedAt,
    updatedAt,
    _id,
    requestToken,
    attempt,
    verdict: _,
    ...rest
  }: JobDocument) => {
    expect(decidedAt).toEqual(updatedAt);
    return rest;
  };
  expect(timeless(single!)).toEqual({ ...timeless(grouped!), createdAt: single!.createdAt });
  expect(single).toMatchObject({ phase: 'decided', startedAt, verdict: { attempt: 1 } });
});

it('a decision that cancels the job stands, and one that was made stays', async () => {
  const cancelled = { errors: [{ code: 'cancelled' as const, message: 'Cancelled.' }] };
  const [first] = await store(listed(1, 'p', { cancelRequested: true }));
  expect(await decide([first!], cancelled)).toMatchObject([{ phase: 'decided', ...cancelled }]);
  expect(await decide([first!], { rows: 99 })).toMatchObject([{ rows: 1, ...cancelled }]);
});

it('dispatchers that decide the same jobs at the same time agree', async () => {
  const all = await store(...range(1, 20).map((id) => listed(id, 'p')));
  const decided = await Promise.all([1, 2, 3].map((rows) => decide(all, { rows })));
  for (const found of decided) expect(found).toEqual(decided[0]);
});
