/** Acks stay small however many files a job has: pairs by file are in pages, and still add up over the slots. */
import { beforeEach, expect, it } from 'vitest';
import { type Ack, createAckStore, pagesIn } from '../../pipeline/stores/acks.ts';
import { collections } from '../../schemas/documents.ts';
import { openDatabase } from '../sets/database.ts';

const database = openDatabase();
const JOB = 5;
beforeEach(() => database.db.dropDatabase());

const ackOf = (slot: number, filePairs: number[]): Ack => ({
  job: JOB,
  slot,
  uniqueDevices: 1,
  pairs: 1,
  filePairs,
  audienceDevices: 0,
  newDevices: 0,
  matchedDevices: 0,
});
const manyFiles = (files: number, pairs: number) =>
  Array.from({ length: 2 * files }, (_, i) => (i % 2 === 0 ? i / 2 : pairs));

async function pairsOfJob(): Promise<Map<number, number>> {
  const acks = createAckStore(database.db);
  const acked = await acks.ofJob(JOB);
  const all = new Map<number, number>();
  for (const page of pagesIn(acked))
    for (const [file, pairs] of await acks.filePairs(acked, page)) {
      expect(all.has(file), `file ${file} in two pages`).toBe(false);
      all.set(file, pairs);
    }
  return all;
}

it('some slots with pages and one without', async () => {
  const acks = createAckStore(database.db);
  const large = [ackOf(0, manyFiles(25_000, 2)), ackOf(1, manyFiles(11_000, 3))];
  const small = ackOf(2, [7, 4, 24_999, 5, 30_000, 1]);
  // Merged again after a crash, the job is acknowledged again.
  for (let again = 0; again < 2; again++) await acks.recordAndAdvance([...large, small]);
  const largest = await database.db
    .collection(collections.acks)
    .aggregate([{ $group: { _id: null, bytes: { $max: { $bsonSize: '$$ROOT' } } } }])
    .next();
  expect(largest?.bytes).toBeLessThan(1_000);
  const pairs = await pairsOfJob();
  expect(pairs.size).toBe(25_001);
  const shown = [0, 7, 10_999, 11_000, 24_999, 30_000].map((file) => pairs.get(file));
  expect(shown).toEqual([5, 9, 5, 2, 7, 1]);

  await acks.forget([JOB]);
  expect(await database.db.collection(collections.filePairs).countDocuments()).toBe(0);
});

it('few files need no page', async () => {
  await createAckStore(database.db).recordAndAdvance([ackOf(0, [0, 5, 1, 6]), ackOf(1, [1, 2])]);
  expect([...(await pairsOfJob())]).toEqual([
    [0, 5],
    [1, 8],
  ]);
});

it.each([
  ['few', 8],
  ['many', 200],
])('%s acks are stored with the progress of their slots; the first of each stands', async (_, slots) => {
  const acks = createAckStore(database.db);
  const all = Array.from({ length: slots }, (_, slot) => ackOf(slot, []));
  await acks.recordAndAdvance(all.slice(0, 3));
  await acks.recordAndAdvance(all.map((ack) => ({ ...ack, uniqueDevices: 9 })));
  const stored = await acks.ofJob(JOB);
  expect(stored.map(({ slot }) => slot).toSorted((a, b) => a - b)).toEqual(all.map(({ slot }) => slot));
  expect(
    stored
      .filter(({ uniqueDevices }) => uniqueDevices === 1)
      .map(({ slot }) => slot)
      .toSorted(),
  ).toEqual([0, 1, 2]);
  const numbers = all.map(({ slot }) => slot);
  expect(await acks.committedJobs(numbers)).toEqual(new Map(numbers.map((slot) => [slot, JOB])));
});
