/** Two owners of one slot, readers during a write, and leftovers of a process that crashed halfway. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createDeviceSets } from '../../pipeline/sets/device-sets.ts';
import { slice } from '../../pipeline/sets/devices.ts';
import { ensureIndexes } from '../../pipeline/stores/indexes.ts';
import { collections, spaces } from '../../schemas/documents.ts';
import { commandsOf, largestOf } from '../support/command-log.ts';
import { slotTarget } from '../support/slot-target.ts';
import {
  aroundManifests,
  checkEveryManifest,
  createGate,
  emptyDatabase,
  openDatabase,
  pagesOf,
} from './database.ts';
import { keyed, numberedDevices, onePart, toPlain } from './devices.ts';

const database = openDatabase();
const tiny = { pageBytes: 128, regionBytes: 1_024, levelRatio: 3 };
const space = spaces.marketplace;
const slot = 1;
const open = (db = database.db) => createDeviceSets(db, { layout: tiny });
const devices = (from: number, to: number, key = 1) =>
  onePart(keyed({ devices: numberedDevices(from, to), key }));

beforeEach(async () => {
  await emptyDatabase(database.db);
  await ensureIndexes(database.db);
});

it('of two that merge the same job one does, and both tell the same', async () => {
  await open().merge(slotTarget({ space, slot, job: 1 }), devices(0, 50));
  const target = slotTarget({ space, slot, job: 2 });
  const results = await Promise.all([1, 2, 3].map(() => open().merge(target, devices(30, 100))));
  for (const result of results) expect(result).toEqual(results[0]);
  expect(results[0]).toMatchObject({ total: 100, changes: [{ job: 2, devices: 50 }] });
  expect(await checkEveryManifest(database.db)).toEqual([]);
});

it('one that was frozen between its pages and its manifest finds the job merged, or a later one', async () => {
  const gate = createGate();
  const frozen = open(aroundManifests(database.db, { before: gate.wait }));
  const writing = frozen.merge(slotTarget({ space, slot, job: 1 }), devices(0, 100));
  await gate.reached;
  await open().merge(slotTarget({ space, slot, job: 1 }), devices(0, 100));
  await open().removeKeys(slotTarget({ space, slot, job: 2 }), new Set([1]));
  gate.open();
  await writing;
  expect(await open().count(space)).toBe(0);
  expect(await checkEveryManifest(database.db)).toEqual([]);
});

it('one that was frozen between its manifests and the look at which of them landed keeps the pages of those', async () => {
  const slots = [0, 1];
  const merge = (sets: ReturnType<typeof open>, at: number, job: number, to: number) =>
    sets.merge(slotTarget({ space, slot: at, job }), devices(0, to));
  await Promise.all(slots.map((at) => merge(open(), at, 1, 100)));
  const [writing, written] = [createGate(), createGate()];
  const old = open(aroundManifests(database.db, { before: writing.wait, after: written.wait }));
  const late = Promise.all(slots.map((at) => merge(old, at, 2, 200)));
  await writing.reached;
  // In one write, the old owner wins slot 0 and loses slot 1; then the new owner continues with slot 0.
  const next = open();
  await merge(next, 1, 2, 200);
  writing.open();
  await written.reached;
  await merge(next, 0, 3, 220);
  written.open();
  const [first, second] = await late;
  expect([first!.total, second!.total]).toEqual([220, 200]);
  await checkEveryManifest(database.db);
  expect(await next.count(space)).toBe(420);
  const found = new Set<string>();
  for await (const part of open().read(space, 0)) for (const [device] of toPlain(part)) found.add(device);
  expect(found.size).toBe(220);
});

it('what a deletion has removed is gone, even if the one that replaced it died before it was', async () => {
  // They fit one region, so the deletion takes one edit.
  await open().merge(slotTarget({ space, slot, job: 1 }), devices(0, 30));
  const before = await pagesOf(database.db).find().toArray();
  const deletion = slotTarget({ space, slot, job: 2 });
  const told = await open().removeKeys(deletion, new Set([1]));
  expect(await pagesOf(database.db).countDocuments()).toBe(0);
  // As after a crash between the manifest's write and the removal.
  await pagesOf(database.db).insertMany(before);
  expect(await open().removeKeys(deletion, new Set([1]))).toEqual(told);
  expect(await pagesOf(database.db).countDocuments()).toBe(0);
});

it('what imports added is told job by job, also when they were merged together and not acknowledged', async () => {
  const sets = open();
  await sets.merge(slotTarget({ space, slot, job: 1 }), devices(0, 10));
  // Jobs 2 and 3 in one merge, then a crash; then 2, 3 and 4 in one merge.
  await sets.merge(slotTarget({ space, slot, job: 3, since: 1 }), devices(0, 30));
  const { changes } = await sets.merge(slotTarget({ space, slot, job: 4, since: 1 }), devices(0, 60));
  expect(changes).toMatchObject([
    { job: 3, devices: 20, pairs: new Map([[1, 20]]) },
    { job: 4, devices: 30, pairs: new Map([[1, 30]]) },
  ]);
  const next = await sets.merge(slotTarget({ space, slot, job: 5 }), devices(50, 70));
  expect(next.changes).toMatchObject([{ job: 5, devices: 10 }]);
});

it('a reader beside a writer finds each moment whole', async () => {
  const sets = open();
  await sets.merge(slotTarget({ space, slot, job: 1 }), devices(0, 200));
  let isDone = false;
  const writing = (async () => {
    for (let job = 2; job < 15; job++)
      await sets.merge(slotTarget({ space, slot, job }), devices(0, 200 + 20 * job, job));
    isDone = true;
  })();
  const wanted = new Set(toPlain(keyed({ devices: numberedDevices(0, 200) })).keys());
  for (let reads = 0; !isDone || reads < 3; reads++) {
    const found = new Set<string>();
    for await (const part of open().read(space, slot))
      for (const [device] of toPlain(part)) found.add(device);
    expect([...wanted].filter((device) => !found.has(device))).toEqual([]);
  }
  await writing;
  expect(await checkEveryManifest(database.db)).toEqual([]);
});

it('pages that nobody named are swept when they are old, and no others', async () => {
  const sets = open();
  await sets.merge(slotTarget({ space, slot, job: 1 }), devices(0, 200));
  await sets.merge(slotTarget({ space, slot, job: 2 }), devices(0, 300, 2));
  const [stored] = await pagesOf(database.db).find().limit(1).toArray();
  const token = (ms: number) => `${(Date.now() - ms).toString(36)}abcdef`;
  const left = [`m#1:${token(9e6)}.0:0000000`, `a9.1#3:${token(9e6)}.1:0000000`];
  const young = `m#1:${token(1e3)}.0:0000000`;
  for (const _id of [...left, young]) await pagesOf(database.db).insertOne({ ...stored!, _id });
  expect(await sets.sweepOrphans({ unnamedForMs: 3.6e6 })).toBe(2);
  expect(await checkEveryManifest(database.db)).toEqual([young]);
  expect(await sets.count(space)).toBe(300);
});

it('a sweep reads each manifest once, however many merges and regions it has', async () => {
  const { db } = database;
  const sets = open();
  for (let job = 1; job <= 12; job++)
    await sets.merge(slotTarget({ space, slot, job }), devices(60 * job, 60 * job + 60, job));
  await sets.merge(slotTarget({ space, slot: 2, job: 1 }), devices(0, 50));
  const merges = new Set(
    (await pagesOf(db).find().project({ _id: 1 }).toArray()).map(({ _id }) => _id.split('.')[0]),
  );
  expect(merges.size).toBeGreaterThan(1);
  const [stored] = await pagesOf(db).find().limit(1).toArray();
  // More than one step removes.
  const orphans = Array.from({ length: 6_000 }, (_, i) => ({
    ...stored!,
    _id: `m#1:${(1).toString(36)}abcdef.0:${i.toString(16).padStart(7, '0')}`,
  }));
  await pagesOf(db).insertMany(orphans);
  const commands = await commandsOf(db, async () =>
    expect(await sets.sweepOrphans({ unnamedForMs: 0 })).toBe(1),
  );
  const manifests = commands.filter(({ collection }) => collection === collections.manifests);
  expect(manifests.reduce((sum, { documents }) => sum + documents, 0)).toBe(2);
  const removals = commands.filter(({ name }) => name === 'delete');
  expect(removals.reduce((sum, { documents }) => sum + documents, 0)).toBe(6_000);
  expect(largestOf(removals)).toBe(5_000);
  expect(await checkEveryManifest(db)).toEqual([]);
});

it('a device is found in every space that holds it', async () => {
  const sets = createDeviceSets(database.db);
  const device = numberedDevices(7, 8);
  const { slotOf } = await import('../formats/identifiers.ts');
  const own = slotOf(device, 0);
  for (const [n, where] of [space, spaces.audience(3, 1), spaces.audience(4, 2)].entries())
    await sets.merge(
      slotTarget({ space: where, slot: own, job: n + 1 }),
      devices(n === 1 ? 8 : 0, 20, n + 1),
    );
  const found: unknown[] = [];
  for await (const one of sets.find(device)) found.push(one);
  expect(found).toEqual(
    expect.arrayContaining([
      { space, keys: [1] },
      { space: spaces.audience(4, 2), keys: [3] },
    ]),
  );
  expect(found).toHaveLength(2);
});

const MINUTE = 60_000;
/** Moves the clock forward. */
function pass(minutes: number): void {
  const now = Date.now() + minutes * MINUTE;
  vi.spyOn(Date, 'now').mockReturnValue(now);
}
afterEach(() => vi.restoreAllMocks());

const sweepMeanwhile = () => open().sweepOrphans({ unnamedForMs: 90 * MINUTE });

it('a merge that takes hours lands, and a sweep meanwhile leaves its pages', async () => {
  await open().merge(slotTarget({ space, slot, job: 1 }), devices(0, 300));
  let attempts = 0;
  const edited = await open().merge(slotTarget({ space, slot, job: 2 }), async function* () {
    attempts++;
    const added = keyed({ devices: numberedDevices(200, 600), key: 2 });
    for (let from = 0; from < added.count; from += 50) {
      yield slice(added, from, Math.min(from + 50, added.count));
      pass(50);
      expect(await sweepMeanwhile()).toBe(0);
    }
  });
  expect([attempts, edited.total]).toEqual([1, 600]);
  expect(await checkEveryManifest(database.db)).toEqual([]);
});

it('a deletion that takes hours does, too', async () => {
  // Too large for a table of keys, so the set is asked for each.
  const large = 2 ** 30;
  await open().merge(slotTarget({ space, slot, job: 1 }), devices(0, 600, large));
  await open().merge(slotTarget({ space, slot, job: 2 }), devices(500, 700, 2));
  const keys = new Set([large]);
  let looked = 0;
  keys.has = (key) => {
    looked++;
    pass(1);
    return key === large;
  };
  const edited = await open().removeKeys(slotTarget({ space, slot, job: 3 }), keys);
  expect([looked, edited.total]).toEqual([800, 200]);
  expect(await sweepMeanwhile()).toBe(0);
  expect(await checkEveryManifest(database.db)).toEqual([]);
});

it('one that was suspended for more than an hour starts over, because its pages may be swept', async () => {
  await open().merge(slotTarget({ space, slot, job: 1 }), devices(0, 300));
  let attempts = 0;
  let swept = 0;
  const edited = await open().merge(slotTarget({ space, slot, job: 2 }), async function* () {
    const isFirst = attempts++ === 0;
    const added = keyed({ devices: numberedDevices(200, 600), key: 2 });
    yield slice(added, 0, 200);
    yield slice(added, 200, 300);
    if (isFirst) {
      pass(120);
      swept = await sweepMeanwhile();
    }
    yield slice(added, 300, 400);
  });
  expect([attempts, swept, edited.total]).toEqual([2, 1, 600]);
  expect(await checkEveryManifest(database.db)).toEqual([]);
});
