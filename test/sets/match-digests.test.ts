/** The pass that finds the devices of a list of digests. */
import { createHash, randomBytes } from 'node:crypto';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { createDigestTable } from '../../pipeline/formats/digest-table.ts';
import { createDeviceSets } from '../../pipeline/sets/device-sets.ts';
import { ensureIndexes } from '../../pipeline/stores/indexes.ts';
import { spaces } from '../../schemas/documents.ts';
import { slotTarget } from '../support/slot-target.ts';
import { manifestsOf, openDatabase, pagesOf } from './database.ts';
import { keyed, numberedDevices, onePart, toHex } from './devices.ts';

const database = openDatabase();
/** So small that there are several levels and many pages. */
const tiny = { pageBytes: 128, maxPageBytes: 2_048, regionBytes: 4_096, levelRatio: 3 };

beforeAll(() => ensureIndexes(database.db));
beforeEach(async () => {
  await manifestsOf(database.db).deleteMany({});
  await pagesOf(database.db).deleteMany({});
});

const digestOf = (device: string) => createHash('sha256').update(device).digest();
const wantedOf = (devices: string[]) =>
  createDigestTable(new Uint8Array(Buffer.concat(devices.map(digestOf))));

async function store(space: string, slot: number, job: number, devices: Uint8Array): Promise<void> {
  const sets = createDeviceSets(database.db, { layout: tiny });
  await sets.merge(slotTarget({ space, slot, job }), onePart(keyed({ devices, key: 1 })));
}

test('devices of all spaces, slots and levels are found, and only those that are wanted', async () => {
  const audience = spaces.audience(3, 1);
  await store(spaces.marketplace, 0, 1, numberedDevices(0, 900));
  await store(spaces.marketplace, 0, 2, numberedDevices(900, 1_000));
  await store(spaces.marketplace, 5, 1, numberedDevices(1_000, 1_100));
  await store(audience, 5, 3, numberedDevices(2_000, 2_010));
  const stored = [...toHex(numberedDevices(0, 1_100, 7)), ...toHex(numberedDevices(2_000, 2_010, 3))];
  const wanted = [...stored, ...Array.from({ length: 500 }, () => randomBytes(16).toString('hex'))];

  const found = new Map<string, number>();
  const progress: [number, number][] = [];
  await createDeviceSets(database.db).match(wantedOf(wanted), {
    onMatch: (device, n) => found.set(Buffer.from(device).toString('hex'), n),
    onPart: (read, of) => void progress.push([read, of]),
  });
  expect([...found.keys()].sort()).toEqual([...stored].sort());
  for (const [device, n] of found) expect(wanted[n]).toBe(device);
  expect(progress.at(-1)).toEqual([1_110, 1_110]);
});

test('nothing is found where nothing is stored, or nothing is wanted', async () => {
  const fail = () => {
    throw new Error('nothing matches');
  };
  await createDeviceSets(database.db).match(wantedOf(['ab'.repeat(16)]), { onMatch: fail });
  await store(spaces.marketplace, 0, 1, numberedDevices(0, 10));
  await createDeviceSets(database.db).match(wantedOf([]), { onMatch: fail });
});
