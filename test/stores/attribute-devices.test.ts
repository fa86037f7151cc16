/** Device counts per attribute: every job counts once, however often its end is repeated. */
import { beforeEach, expect, it } from 'vitest';
import { createAttributeDeviceStore } from '../../pipeline/stores/attribute-devices.ts';
import { collections } from '../../schemas/documents.ts';
import { openDatabase } from '../sets/database.ts';

const database = openDatabase();
const store = () => createAttributeDeviceStore(database.db);
const added = (job: number, pairs: Record<number, number>, partner = 'p') => ({
  job,
  partner,
  added: new Map(Object.entries(pairs).map(([id, count]) => [Number(id), count])),
});
const imported = (job: number, pairs: Record<number, number>) => ({
  ...added(job, pairs),
  importedAt: new Date(job),
});
const devices = async () => Object.fromEntries(await store().of([0, 99, 200, 300, 400, 500]));

beforeEach(() => database.db.collection(collections.attributeDevices).deleteMany());

it('imports add, deletions take away', async () => {
  await store().record([added(1, { 1: 10, 2: 20, 99: 1 }), added(2, { 2: 5, 300: 7 })]);
  expect(await devices()).toEqual({ 1: 10, 2: 25, 99: 1, 300: 7 });
  await store().record([added(3, { 1: 1, 2: 1 }), added(4, { 2: -26, 300: -7 }), added(5, { 300: 2 })]);
  expect(await devices()).toEqual({ 1: 11, 99: 1, 300: 2 });
});

it('jobs that are ended again, in whatever groups, change nothing', async () => {
  const jobs = [
    added(1, { 1: 10, 200: 20 }),
    added(2, { 200: 5 }),
    added(3, { 1: -10 }),
    added(4, { 1: 3, 200: 4 }),
  ];
  await store().record(jobs);
  for (const group of [jobs, jobs.slice(1), jobs.slice(2), jobs.slice(0, 1), [jobs[1]!], [jobs[2]!]])
    await store().record(group);
  expect(await devices()).toEqual({ 1: 3, 200: 29 });
});

it('a process that died in the middle of a job is followed by one that counts the rest', async () => {
  await store().record([added(1, { 1: 10, 2: 2 })]);
  await store().record([added(1, { 1: 10, 2: 2, 200: 20 }), added(2, { 1: 1 })]);
  expect(await devices()).toEqual({ 1: 11, 2: 2, 200: 20 });
});

it('two dispatchers that end the same jobs at the same time count them once', async () => {
  const jobs = Array.from({ length: 20 }, (_, i) => added(i + 1, { [i]: 1, 50: 1, 500: 1 }));
  await Promise.all([1, 2, 3].map(() => store().record(jobs)));
  expect(await devices()).toMatchObject({ 0: 1, 19: 1, 50: 20, 500: 20 });
});

it('jobs of two partners that end out of the order of their numbers, and again, count once', async () => {
  const [first, second] = [added(1, { 1: 10, 200: 1 }, 'p'), added(4, { 1: 2 }, 'p')];
  const others = [added(2, { 2: 20, 200: 2 }, 'q'), added(3, { 2: 3, 300: 3 }, 'q')];
  for (const group of [others, [first], others, [second, ...others], [first, second], [others[0]!]])
    await store().record(group);
  expect(await devices()).toEqual({ 1: 12, 2: 23, 200: 3, 300: 3 });
});

it('an attribute knows the first and the last import that added devices, since its data was deleted', async () => {
  const jobs = [imported(3, { 1: 10, 2: 20 }), imported(5, { 1: 1 }), imported(6, { 1: 2, 200: 1 })];
  for (const group of [jobs.slice(0, 2), jobs, jobs.slice(0, 1)]) await store().record(group);
  const addition = (job: number) => ({ job, at: new Date(job) });
  const additions = async () => Object.fromEntries(await store().additionsTo([1, 2, 3, 200]));
  const before = {
    1: { first: addition(3), last: addition(6) },
    2: { first: addition(3), last: addition(3) },
    200: { first: addition(6), last: addition(6) },
  };
  expect(await additions()).toEqual(before);
  // A privacy request that removes some devices changes nothing here.
  await store().record([added(7, { 1: -13 })]);
  expect(await additions()).toEqual(before);
  await store().record([{ ...added(8, { 1: 0, 200: -1 }), isEmptied: true }]);
  expect(await additions()).toEqual({ 2: before[2] });
  await store().record([imported(9, { 1: 4 })]);
  expect(await additions()).toEqual({ 1: { first: addition(9), last: addition(9) }, 2: before[2] });
});

it('a job of 20,000 attributes', async () => {
  const pairs = new Map(Array.from({ length: 20_000 }, (_, i) => [7 * i + 1, i + 1]));
  for (const job of [1, 2]) await store().record([{ job, partner: 'p', added: pairs }]);
  expect(await store().of([...pairs.keys()])).toEqual(
    new Map([...pairs].map(([id, count]) => [id, 2 * count])),
  );
});
