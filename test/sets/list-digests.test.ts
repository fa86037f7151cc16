/** Devices that are suppressed by digest only. */
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { digestsOf } from '../../pipeline/formats/device-digest.ts';
import { createDeviceSets } from '../../pipeline/sets/device-sets.ts';
import { shortDigestsOf } from '../../pipeline/sets/suppressions.ts';
import { ensureIndexes } from '../../pipeline/stores/indexes.ts';
import { createLateMatchStore } from '../../pipeline/stores/late-matches.ts';
import { collections, spaces } from '../../schemas/documents.ts';
import { slotTarget } from '../support/slot-target.ts';
import { manifestsOf, openDatabase, pagesOf } from './database.ts';
import { keyed, numberedDevices, onePart } from './devices.ts';

const database = openDatabase();
const SLOT = 5;

beforeAll(() => ensureIndexes(database.db));
beforeEach(async () => {
  await manifestsOf(database.db).deleteMany({});
  await pagesOf(database.db).deleteMany({});
  await database.db.collection(collections.lateMatches).deleteMany({});
});

const digestsOfNumbers = (from: number, to: number) => new Uint8Array(digestsOf(numberedDevices(from, to)));
/** How many of the devices with these numbers are suppressed. */
async function suppressed(from: number, to: number): Promise<number> {
  const devices = keyed({ devices: numberedDevices(from, to), key: 1 });
  const flags = await createDeviceSets(database.db).suppressedAmong('p', SLOT, devices);
  return flags?.reduce((sum, one) => sum + one, 0) ?? 0;
}
const arrived = async () => (await createLateMatchStore(database.db).some(10_000)).length;

test('what is listed by its digest is kept out wherever it comes, and is remembered as having come', async () => {
  const sets = createDeviceSets(database.db);
  await sets.listDigests(digestsOfNumbers(0, 500), { number: 1, key: 1 });
  await sets.listDigests(digestsOfNumbers(400, 1_000), { number: 2, key: 2 });
  expect(await suppressed(5_000, 6_000)).toBe(0);
  expect(await arrived()).toBe(0);
  expect(await suppressed(900, 1_100)).toBe(100);
  expect(await suppressed(950, 1_000)).toBe(50);
  expect(await arrived()).toBe(100);
  const lateMatches = createLateMatchStore(database.db);
  await lateMatches.forget(await lateMatches.some(60));
  expect(await arrived()).toBe(40);
});

test('a digest that is taken from the list may come again', async () => {
  const sets = createDeviceSets(database.db);
  await sets.listDigests(digestsOfNumbers(0, 100), { number: 1, key: 1 });
  await sets.unlistDigests(digestsOfNumbers(0, 30), { number: 2, requests: new Set() });
  expect(await suppressed(0, 100)).toBe(70);
  await sets.listDigests(digestsOfNumbers(0, 10), { number: 3, key: 3 });
  expect(await suppressed(0, 100)).toBe(80);
});

test('what a session’s request has brought with the device goes with it, what another request has brought stays', async () => {
  const sets = createDeviceSets(database.db);
  const entries = (from: number, to: number, request: number) => {
    const short = shortDigestsOf(keyed({ devices: numberedDevices(from, to), key: 1 }));
    return keyed({ devices: short, key: request });
  };
  const suppress = (job: number, from: number, to: number) =>
    sets.merge(
      slotTarget({ space: spaces.suppressed(), slot: SLOT, job, partner: '*' }),
      onePart(entries(from, to, job)),
    );
  await suppress(7, 0, 20);
  await suppress(8, 10, 20);
  expect(await suppressed(0, 20)).toBe(20);
  await sets.unlistDigests(digestsOfNumbers(0, 20), { number: 9, requests: new Set([7]) });
  expect(await suppressed(0, 20)).toBe(10);
  expect(await arrived()).toBe(0);
});

test('a session takes its entries off a list that requests with larger numbers have changed, and leaves their changes', async () => {
  const sets = createDeviceSets(database.db);
  const entries = (request: number) =>
    keyed({ devices: shortDigestsOf(keyed({ devices: numberedDevices(0, 20), key: 1 })), key: request });
  const target = (job: number) =>
    slotTarget({ space: spaces.suppressed(), slot: SLOT, job, partner: '*', endedBefore: 1_000 });
  await sets.merge(target(1_000), onePart(entries(1_000)));
  await sets.merge(target(1_001), onePart(entries(1_001)));
  await sets.unlistDigests(digestsOfNumbers(0, 20), { number: 3, requests: new Set([1_000]) });
  expect(await suppressed(0, 20)).toBe(20);
  const digests = shortDigestsOf(keyed({ devices: numberedDevices(0, 5), key: 1 }));
  await sets.erase(target(1_002), keyed({ devices: digests }));
  await sets.unlistDigests(digestsOfNumbers(0, 20), { number: 4, requests: new Set([1_001]) });
  expect(await suppressed(0, 20)).toBe(0);
  // Its process died before the slot had acknowledged the request: carried out again, it tells the same.
  const { changes } = await sets.erase(target(1_002), keyed({ devices: digests }));
  expect(changes.find(({ job }) => job === 1_002)).toMatchObject({ devices: 5 });
});

test('the list is no device: the pass over all devices leaves it out', async () => {
  const sets = createDeviceSets(database.db);
  await sets.listDigests(digestsOfNumbers(0, 100), { number: 1, key: 1 });
  const { createDigestTable } = await import('../../pipeline/formats/digest-table.ts');
  let parts = 0;
  await sets.match(createDigestTable(new Uint8Array(32)), { onMatch: () => {}, onPart: () => void parts++ });
  expect(parts).toBe(0);
});
