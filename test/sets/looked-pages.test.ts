/** An erasure uses the pages that a look-up has read, as long as nothing has changed them. */
import type { CommandStartedEvent } from 'mongodb';
import { beforeEach, describe, expect, it } from 'vitest';
import { createDeviceSets, createLookedPages } from '../../pipeline/sets/device-sets.ts';
import { ensureIndexes } from '../../pipeline/stores/indexes.ts';
import { collections, spaces } from '../../schemas/documents.ts';
import { slotTarget } from '../support/slot-target.ts';
import { aroundManifests, checkEveryManifest, createGate, emptyDatabase, openDatabase } from './database.ts';
import { keyed, numberedDevices, onePart, toPlain } from './devices.ts';

const database = openDatabase();
const tiny = { pageBytes: 128, regionBytes: 1_024, levelRatio: 3 };
const space = spaces.marketplace;
const slot = 5;
const open = (db = database.db) => createDeviceSets(db, { layout: tiny });
const devices = (from: number, to: number, key = 1) => keyed({ devices: numberedDevices(from, to), key });
const wanted = devices(100, 200);

beforeEach(async () => {
  await emptyDatabase(database.db);
  await ensureIndexes(database.db);
  await open().merge(slotTarget({ space, slot, job: 1 }), onePart(devices(0, 300)));
});

async function readsOf(work: () => Promise<unknown>): Promise<number> {
  let reads = 0;
  const onStarted = ({ command }: CommandStartedEvent) => {
    if (command.find === collections.pages) reads++;
  };
  database.db.client.on('commandStarted', onStarted);
  await work().finally(() => database.db.client.off('commandStarted', onStarted));
  return reads;
}

async function stored(): Promise<Map<string, number[]>> {
  const found = new Map<string, number[]>();
  for await (const part of open().read(space, slot))
    for (const [device, keys] of toPlain(part)) found.set(device, keys);
  return found;
}

const erasure = (job: number, looked?: ReturnType<typeof createLookedPages>) => ({
  ...slotTarget({ space, slot, job }),
  isRecorded: () => true,
  looked,
});

it('an erasure reads no page that the look-up has read', async () => {
  const sets = open();
  const looked = createLookedPages();
  const reads = await readsOf(() => sets.look({ space, slot }, wanted, looked));
  expect(reads).toBeGreaterThan(0);
  expect(await readsOf(() => sets.erase(erasure(2, looked), wanted))).toBe(0);
  expect(await stored()).toEqual(
    toPlain(
      keyed(
        ...[
          [0, 100],
          [200, 300],
        ].map(([from, to]) => ({ devices: numberedDevices(from!, to!), key: 1 })),
      ),
    ),
  );
  expect(await checkEveryManifest(database.db)).toEqual([]);
});

it('beyond the memory limit it reads them again', async () => {
  const sets = open();
  const looked = createLookedPages(0);
  await sets.look({ space, slot }, wanted, looked);
  expect(await readsOf(() => sets.erase(erasure(2, looked), wanted))).toBeGreaterThan(0);
  expect(await open().count(space)).toBe(200);
});

describe('after a change it reads the pages again, and removes exactly what is stored then', () => {
  it.each([
    {
      name: 'a merge',
      change: () => open().merge(slotTarget({ space, slot, job: 2 }), onePart(devices(150, 350, 2))),
      removed: {
        devices: 100,
        pairs: new Map([
          [1, 100],
          [2, 50],
        ]),
      },
      left: 250,
    },
    {
      name: 'another erasure',
      change: () => open().erase(erasure(2), devices(50, 120)),
      removed: { devices: 80, pairs: new Map([[1, 80]]) },
      left: 150,
    },
    {
      name: 'a removal of keys',
      change: () => open().removeKeys(slotTarget({ space, slot, job: 2 }), new Set([1])),
      removed: { devices: 0, pairs: new Map() },
      left: 0,
    },
    {
      name: 'a fence',
      change: () => open().fence({ space, slot }),
      removed: { devices: 100, pairs: new Map([[1, 100]]) },
      left: 200,
    },
  ])('$name', async ({ name, change, removed, left }) => {
    const sets = open();
    const looked = createLookedPages();
    await sets.look({ space, slot }, wanted, looked);
    await change();
    const reads = await readsOf(async () => {
      const { total, changes } = await sets.erase(erasure(3, looked), wanted);
      expect(total).toBe(left);
      expect(changes.find(({ job }) => job === 3)).toMatchObject(removed);
    });
    // Without devices no page is left to read.
    if (left > 0) expect(reads, name).toBeGreaterThan(0);
    expect((await stored()).size).toBe(left);
    expect(await checkEveryManifest(database.db)).toEqual([]);
  });

  it('a pending erasure whose pages are already changed', async () => {
    const gate = createGate();
    // Waits after the change of the pages, before the manifest says that the erasure is complete.
    let writes = 0;
    const slow = open(
      aroundManifests(database.db, { before: async () => (++writes === 2 ? gate.wait() : undefined) }),
    );
    const erasing = slow.erase(erasure(2), devices(50, 120));
    await gate.reached;
    const sets = open();
    const looked = createLookedPages();
    await sets.look({ space, slot }, wanted, looked);
    const { total, changes } = await sets.erase(erasure(3, looked), wanted);
    gate.open();
    await erasing;
    expect(total).toBe(150);
    expect(changes.find(({ job }) => job === 3)).toMatchObject({ devices: 80 });
    expect((await stored()).size).toBe(150);
    expect(await checkEveryManifest(database.db)).toEqual([]);
  });
});

it('pages that were read while the manifest changed are not kept', async () => {
  const looked = createLookedPages();
  const read = { region: { start: 0, bits: 0, levels: [] }, wanted, levels: [] };
  looked.add('m#5', { ...read, version: undefined });
  expect(looked.take({ _id: 'm#5', version: 1 }, read.region)).toBeUndefined();
  looked.add('m#5', { ...read, version: 1 });
  expect(looked.take({ _id: 'm#5', version: 2 }, read.region)).toBeUndefined();
  looked.add('m#5', { ...read, version: 1 });
  expect(looked.take({ _id: 'm#5', version: 1 }, read.region)).toBeDefined();
});
