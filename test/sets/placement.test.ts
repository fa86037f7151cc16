/** The placement key is created once, and devices placed with another key are never looked up in the wrong place. */
import { beforeEach, expect, it } from 'vitest';
import { createDeviceSets } from '../../pipeline/sets/device-sets.ts';
import { createPlacementReader, storedPlacement } from '../../pipeline/sets/placement.ts';
import { collections, spaces } from '../../schemas/documents.ts';
import { slotTarget } from '../support/slot-target.ts';
import { openDatabase } from './database.ts';
import { keyedBy, numberedDevices, onePart } from './devices.ts';

const database = openDatabase();
const space = spaces.marketplace;
const devices = numberedDevices(0, 20);
const read = () => createPlacementReader(database.db)();

beforeEach(() => database.db.dropDatabase());

async function store(sets = createDeviceSets(database.db)): Promise<void> {
  const parts = onePart(keyedBy(await sets.placement(), { devices, key: 1 }));
  await sets.merge(slotTarget({ space, slot: 0, job: 1 }), parts);
}

it('processes that start together agree, and so do those that come later', async () => {
  const together = await Promise.all(Array.from({ length: 8 }, read));
  const { id, hash } = await read();
  expect(new Set(together.map((one) => one.id))).toEqual(new Set([id]));
  const words = new Uint32Array(devices.buffer);
  for (const one of together) expect(one.hash(words, 0)).toBe(hash(words, 0));
  expect(await database.db.collection(collections.placement).countDocuments()).toBe(1);
});

it('another installation has another key, and none before its first start', async () => {
  expect(await storedPlacement(database.db)).toBeUndefined();
  const { id } = await read();
  await database.db.dropDatabase();
  expect((await read()).id).not.toBe(id);
});

it('devices without their key are an error, and no key is made', async () => {
  await store();
  await database.db.collection(collections.placement).deleteMany({});
  await expect(read()).rejects.toThrow(/holds devices, but not the key/);
  await expect(createDeviceSets(database.db).count(space)).rejects.toThrow(/restore all collections/);
  expect(await database.db.collection(collections.placement).countDocuments()).toBe(0);
});

it('devices that were only spilled are, too', async () => {
  await database.db.collection(collections.spills).insertOne({ job: 1 });
  await expect(read()).rejects.toThrow(/holds devices, but not the key/);
});

it('another key than that of the devices is an error, at the start and with every access', async () => {
  const early = createDeviceSets(database.db);
  await store();
  const { id } = await read();
  await database.db.collection(collections.placement).deleteMany({});
  // As if only this collection had been restored from another installation's backup.
  const manifests = await database.db.collection(collections.manifests).find().toArray();
  await database.db.collection(collections.manifests).deleteMany({});
  await early.placement();
  await database.db.collection(collections.manifests).insertMany(manifests);
  await expect(read()).rejects.toThrow(`placed by the key ${id}`);
  await expect(store(early)).rejects.toThrow(`placed by the key ${id}`);
  await expect(early.count(space)).rejects.toThrow(`placed by the key ${id}`);
});

it('what could not be read is read again', async () => {
  await store();
  const reader = createPlacementReader(database.db);
  const key = await database.db.collection(collections.placement).find().toArray();
  await database.db.collection(collections.placement).deleteMany({});
  await expect(reader()).rejects.toThrow();
  await database.db.collection(collections.placement).insertMany(key);
  await reader();
});
