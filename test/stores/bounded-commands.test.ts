/**
 * Commands have a bounded size, however large a job is: a command that writes millions of documents would exceed the socket timeout
 * and be retried forever.
 */
import { Binary } from 'mongodb';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createDeliveryStore } from '../../api/stores/deliveries.ts';
import { createAckStore } from '../../pipeline/stores/acks.ts';
import { createFileStore, identityOf } from '../../pipeline/stores/files.ts';
import { ensureIndexes } from '../../pipeline/stores/indexes.ts';
import { createSpillStore } from '../../pipeline/stores/spills.ts';
import { encodeGroups } from '../../pipeline/wire/device-groups.ts';
import { collections } from '../../schemas/documents.ts';
import {
  type FileDocument,
  type FileFailure,
  type JobDocument,
  JobStatus,
} from '../../schemas/job-documents.ts';
import type { AckDocument, SpillDocument } from '../../schemas/stage-documents.ts';
import type { DeliveryDocument } from '../../schemas/webhook-documents.ts';
import { openDatabase } from '../sets/database.ts';
import { numberedDevices, testPlacement } from '../sets/devices.ts';
import { commandsOf, largestOf } from '../support/command-log.ts';

const database = openDatabase();
const FILES = 6_000;
const MAX_AT_ONCE = 5_000;
const failure: FileFailure = { code: 'cancelled', message: 'cleared' };
const { pending, running, done, error } = JobStatus;

const files = () => database.db.collection<FileDocument>(collections.files);
const store = () => createFileStore(database.db);
const count = (filter: object) => files().countDocuments(filter);

/** Of twenty files, one is loaded and one has failed. */
const mixed = [done, error, ...Array.from({ length: 18 }, (_, i) => (i % 2 ? pending : running))];
const [UNDECIDED, NOT_FAILED] = [0.9 * FILES, 0.95 * FILES];

const listingOf = (listing: string, statuses: JobStatus[]) =>
  Array.from({ length: FILES }, (_, number) => ({
    _id: `${listing}.${number}`,
    job: 7,
    listing,
    number,
    size: 10,
    rows: 2,
    status: statuses[number % statuses.length],
  })) as FileDocument[];

beforeAll(() => ensureIndexes(database.db));

async function expectSmallCommands(work: () => Promise<unknown>): Promise<void> {
  expect(largestOf(await commandsOf(database.db, work))).toBeLessThanOrEqual(MAX_AT_ONCE);
}

describe('files', () => {
  beforeEach(async () => {
    await files().deleteMany({});
    await files().insertMany([...listingOf('7-a', mixed), ...listingOf('7-b', [pending])]);
  });

  it('undecided files are cancelled', async () => {
    await expectSmallCommands(() => store().cancelUndecided('7-a', failure));
    expect(await count({ listing: '7-a', failure })).toBe(UNDECIDED);
    expect(await count({ listing: '7-a', status: error })).toBe(NOT_FAILED);
    expect(await count({ listing: '7-b', status: pending })).toBe(FILES);
  });

  it('all files fail with their job, apart from those that have failed themselves', async () => {
    await expectSmallCommands(() => store().failAll('7-a', failure));
    expect(await count({ listing: '7-a', status: error, failure, duplicates: null })).toBe(NOT_FAILED);
    expect(await count({ listing: '7-a', status: error })).toBe(FILES);
    expect(await count({ listing: '7-b', status: pending })).toBe(FILES);
  });

  it('a listing that was not frozen is removed, and all others of the job', async () => {
    await expectSmallCommands(() => store().forgetOthers(7, '7-a'));
    expect([await count({ listing: '7-a' }), await count({ listing: '7-b' })]).toEqual([FILES, 0]);
    await expectSmallCommands(() => store().forgetListing('7-a'));
    expect(await count({})).toBe(0);
  });

  it('what is decided adds up over all of them', async () => {
    const files = FILES - UNDECIDED;
    expect(await store().decidedOf('7-a', 0)).toEqual({
      files,
      rows: 2 * files,
      bytes: 10 * files,
      grown: 0,
    });
    expect(await store().decidedOf('7-b', 0)).toEqual({ files: 0, rows: 0, bytes: 0, grown: 0 });
  });

  it('duplicates of very many files', async () => {
    await files().updateMany({ listing: '7-a' }, { $set: { pairsRead: 9 } });
    const pairs = new Map(Array.from({ length: FILES }, (_, number) => [number, 5]));
    await expectSmallCommands(() => store().recordDistinctPairs({ listing: '7-a', pairs }));
    expect(await count({ listing: '7-a', duplicates: 4 })).toBe(FILES);
  });
});

it('a path that was loaded again and again: its loaded content is looked up, and only its last entry is read', async () => {
  await files().deleteMany({});
  const entries = Array.from({ length: FILES }, (_, i) => ({
    _id: `${i + 1}-l.0`,
    job: i + 1,
    listing: `${i + 1}-l`,
    number: 0,
    audience: 1,
    generation: 1,
    path: 'a.csv',
    etag: `${i}`,
    identity: identityOf('a.csv', `${i}`),
    status: done,
    accepted: i,
    rejected: i === 0 ? {} : { opted_out: 2 },
  }));
  await files().insertMany(entries as FileDocument[]);
  const [loaded, other] = [identityOf('a.csv', '7'), identityOf('b.csv', '7')];
  const last = { _id: FILES, listing: `${FILES}-l`, audience: 1, generation: 1 } as JobDocument;
  const commands = await commandsOf(database.db, async () => {
    expect(await store().loadedAmong(1, 1, [loaded, other])).toEqual(new Set([loaded]));
    expect(await store().changeBy(last)).toEqual({ uploaded: 1, failed: 0, rejected: { opted_out: 0 } });
  });
  expect(largestOf(commands)).toBe(1);
});

it('spills are forgotten, and their sizes known without reading them', async () => {
  const { db } = database;
  const spills = createSpillStore(db);
  const groups = encodeGroups([{ key: '5', devices: numberedDevices(0, 100) }]);
  const devices = [0, 1, 2].map((batch) => ({ job: 1, file: 0, batch, slot: 3, part: 0, groups }));
  await spills.save({ job: 1, slot: 3, devices }, testPlacement.hash);
  await spills.save({ job: 1, slot: 4, devices: devices.slice(0, 1) }, testPlacement.hash);
  await spills.save({ job: 2, slot: 3, devices }, testPlacement.hash);
  const others = Array.from({ length: FILES }, (_, i): SpillDocument => {
    return { _id: `1.3.${i}`, job: 1, slot: 3, range: 0, messages: new Binary() };
  });
  await db.collection<SpillDocument>(collections.spills).insertMany(others);
  expect(await spills.sizes([1], [3, 4])).toEqual(
    new Map([
      [3, 3 * groups.length],
      [4, groups.length],
    ]),
  );
  await expectSmallCommands(() => spills.forget([3], [1]));
  expect([await spills.jobsIn([3]), await spills.jobsIn([4])]).toEqual([[2], [1]]);
});

it('acks of jobs are forgotten', async () => {
  const acks = database.db.collection<AckDocument>(collections.acks);
  await acks.insertMany(
    Array.from({ length: FILES }, (_, i) => ({ _id: 16 + i, job: 1 + Math.floor(i / 16) }) as AckDocument),
  );
  const jobs = Array.from({ length: FILES / 16 - 1 }, (_, i) => 1 + i);
  await expectSmallCommands(() => createAckStore(database.db).forget(jobs));
  expect(await acks.countDocuments()).toBe(16);
});

it('deliveries that nobody sends are given up', async () => {
  const deliveries = database.db.collection<DeliveryDocument>(collections.deliveries);
  const pendingUntil = (_id: number, giveUpAt: Date) =>
    ({ _id, webhook: 1, job: _id, status: 'pending', giveUpAt }) as DeliveryDocument;
  await deliveries.insertMany([
    ...Array.from({ length: FILES }, (_, i) => pendingUntil(1 + i, new Date(0))),
    pendingUntil(FILES + 1, new Date(Date.now() + 3_600_000)),
  ]);
  await expectSmallCommands(async () => expect(await createDeliveryStore(database.db).giveUp()).toBe(FILES));
  expect(await deliveries.distinct('_id', { status: 'pending' })).toEqual([FILES + 1]);
});
