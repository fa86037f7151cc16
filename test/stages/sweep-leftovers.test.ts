/** A cleared audience leaves nothing behind, not even the writes of a sink that was frozen while the audience was cleared and swept. */
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { createLogger } from '../../pipeline/runtime/log.ts';
import { createDeviceSets } from '../../pipeline/sets/device-sets.ts';
import { createRemoveJobs } from '../../pipeline/stages/dispatch/housekeeping/remove-jobs.ts';
import { createSweep } from '../../pipeline/stages/dispatch/housekeeping/sweep-leftovers.ts';
import { removedUpTo } from '../../pipeline/stores/counters.ts';
import { ensureIndexes } from '../../pipeline/stores/indexes.ts';
import { createStores, type Stores } from '../../pipeline/stores/stores.ts';
import { encodeGroups } from '../../pipeline/wire/device-groups.ts';
import { type AudienceDocument, collections, spaces } from '../../schemas/documents.ts';
import type { JobDocument } from '../../schemas/job-documents.ts';
import { aroundManifests, createGate, manifestsOf, openDatabase, pagesOf } from '../sets/database.ts';
import { keyed, numberedDevices, onePart, testPlacement } from '../sets/devices.ts';
import { recordedStep } from '../support/recorded-step.ts';
import { slotTarget } from '../support/slot-target.ts';

const database = openDatabase();
const AUDIENCE = 7;
const partner = 'p-sweep';
const scope = { partner, customer: null };
const SLOT = 3;
const step = recordedStep('dispatch');
const log = createLogger({ logLevel: 'silent' }, 'test');

let stores: Stores;
let sets: ReturnType<typeof createDeviceSets>;
beforeAll(async () => {
  await ensureIndexes(database.db);
  stores = createStores(database.db);
  sets = createDeviceSets(database.db);
});
beforeEach(async () => {
  for (const name of Object.values(collections)) await database.db.collection(name).deleteMany({});
  await createAudience(AUDIENCE);
});

const sweep = (other: Partial<typeof sets> = {}) =>
  createSweep({ ...stores, log, sets: { ...sets, ...other }, removeJobs: createRemoveJobs(stores) })(step);

const createAudience = (_id: number) =>
  stores.audiences.ensure({
    _id,
    kind: 'audience',
    audience: _id,
    partner,
    customer: null,
    audienceName: 'a',
    createdAt: new Date(),
  });

/** The id of an audience is the id of the job that created it. */
function merge(into: typeof sets, space: string, devices: number) {
  const parts = onePart(keyed({ devices: numberedDevices(0, devices), key: 2 }));
  return into.merge(slotTarget({ space, slot: SLOT, job: AUDIENCE }), parts);
}
const clear = (generation: number, audience = AUDIENCE) =>
  stores.audiences.clear(scope, audience, generation);
const isToSweep = async () => (await stores.audiences.toSweep().toArray()).length > 0;

it('nothing stays of a deleted audience but the mark that it is deleted', async () => {
  await merge(sets, spaces.audience(AUDIENCE, 1), 100);
  await stores.audiences.delete(scope, AUDIENCE);
  await sweep();
  expect(await manifestsOf(database.db).countDocuments()).toBe(0);
  expect(await pagesOf(database.db).countDocuments()).toBe(0);
  await createAudience(AUDIENCE);
  expect(await stores.audiences.find(scope, AUDIENCE)).toBeNull();
  expect(await stores.audiences.list(scope, {}).toArray()).toEqual([]);
  expect(
    await stores.audiences.clearedAmong([{ _id: 9, audience: AUDIENCE, generation: 1 } as JobDocument]),
  ).toEqual(new Set([9]));
});

it('what a frozen sink writes into a swept generation is swept too, and the present one stays', async () => {
  const { db } = database;
  const gate = createGate();
  const writing = merge(
    createDeviceSets(aroundManifests(db, { before: gate.wait })),
    spaces.audience(AUDIENCE, 1),
    100,
  );
  await gate.reached;
  // Twelve clears: generation 1 must not match 10, 11 or 12.
  for (let generation = 1; generation <= 12; generation++) await clear(generation);
  const present = spaces.audience(AUDIENCE, 13);
  await merge(sets, present, 50);
  await sweep();

  gate.open();
  await writing;
  expect(await sets.spacesOf([AUDIENCE])).toContain(spaces.audience(AUDIENCE, 1));
  await sweep();
  expect(await manifestsOf(db).distinct('space')).toEqual([present]);
  const pages = await pagesOf(db).find().project<{ _id: string }>({ _id: 1 }).toArray();
  expect(pages.every(({ _id }) => _id.startsWith(`${present}#`))).toBe(true);
  expect(await sets.count(present)).toBe(50);
});

it('it is swept again for a while, then never again until the next clear', async () => {
  const audiences = database.db.collection<AudienceDocument>(collections.audiences);
  await clear(1);
  await sweep();
  expect(await isToSweep()).toBe(true);
  await audiences.updateOne({ _id: AUDIENCE }, { $set: { sweptAt: new Date(Date.now() - 3_600_000) } });
  await sweep();
  expect(await isToSweep()).toBe(false);
  await clear(2);
  expect(await isToSweep()).toBe(true);
});

it('the spilled devices of an ended job go, even if an older job is unfinished', async () => {
  const jobs = database.db.collection<JobDocument>(collections.jobs);
  const job = { kind: 'import', partner, audience: null };
  const phases = [
    [10, 'decided'],
    [11, 'ended'],
    [12, 'listed'],
  ] as const;
  await jobs.insertMany(phases.map(([_id, phase]) => ({ ...job, _id, phase }) as JobDocument));
  const groups = encodeGroups([{ key: '2', devices: numberedDevices(0, 10) }]);
  for (const [of] of phases) {
    const devices = [{ job: of, file: 0, batch: 0, slot: SLOT, part: 0, groups }];
    await stores.spills.save({ job: of, slot: SLOT, devices }, testPlacement.hash);
  }
  await sweep();
  expect((await stores.spills.jobsIn([SLOT])).sort()).toEqual([10, 12]);
});

it('nothing is removed while a load of an earlier generation may still write', async () => {
  const jobs = database.db.collection<JobDocument>(collections.jobs);
  const load = {
    _id: AUDIENCE,
    kind: 'audience',
    partner,
    audience: AUDIENCE,
    generation: 1,
    phase: 'decided',
  };
  await jobs.insertOne(load as JobDocument);
  await merge(sets, spaces.audience(AUDIENCE, 1), 100);
  await clear(1);
  await sweep();
  expect(await sets.count(spaces.audience(AUDIENCE, 1))).toBe(100);
  await jobs.updateOne({ _id: AUDIENCE }, { $set: { phase: 'ended' } });
  await sweep();
  expect(await sets.spacesOf([AUDIENCE])).toEqual([]);
});

it('cleared data is removed while a sweep of orphaned pages takes its time', async () => {
  await merge(sets, spaces.audience(AUDIENCE, 1), 100);
  await clear(1);
  await sweep({ sweepOrphans: () => new Promise(() => {}) });
  await clear(2);
  await sweep({ sweepOrphans: () => new Promise(() => {}) });
  expect(await sets.spacesOf([AUDIENCE])).toEqual([]);
});

it('its event values go, and its loads that had expired before; those of the present generation stay', async () => {
  const jobs = database.db.collection<JobDocument>(collections.jobs);
  const load = (_id: number, generation: number) =>
    ({ _id, kind: 'audience', partner, audience: AUDIENCE, generation, phase: 'ended' }) as JobDocument;
  await jobs.insertMany([load(7, 1), load(8, 1), load(9, 2), load(10, 1), load(11, 2)]);
  await stores.counters.raise(new Map([[removedUpTo.jobs, 9]]));
  await clear(1);
  const values = Array.from({ length: 5_000 }, (_, i) => `value ${i}`);
  for (const generation of [1, 2]) await stores.eventValues.assign(AUDIENCE, generation, values);
  await sweep();
  expect((await stores.eventValues.valuesOf(AUDIENCE, 1)).size).toBe(1);
  expect((await stores.eventValues.valuesOf(AUDIENCE, 2)).size).toBe(5_001);
  expect((await jobs.distinct('_id')).sort((a, b) => a - b)).toEqual([9, 10, 11]);
});

it('what fails for one audience is tried again, and is done for the others at once', async () => {
  await createAudience(8);
  for (const audience of [AUDIENCE, 8]) {
    await merge(sets, spaces.audience(audience, 1), 10);
    await clear(1, audience);
  }
  await sweep({
    removeSpace: (space, signal) =>
      space.startsWith(`a${AUDIENCE}.`)
        ? Promise.reject(new Error('MongoDB is gone'))
        : sets.removeSpace(space, signal),
  });
  expect(await manifestsOf(database.db).distinct('space')).toEqual([spaces.audience(AUDIENCE, 1)]);
  await sweep();
  expect(await manifestsOf(database.db).countDocuments()).toBe(0);
});
