import { beforeEach, expect, it } from 'vitest';
import { StartRefused } from '../../pipeline/runtime/errors.ts';
import { createCounterStore } from '../../pipeline/stores/counters.ts';
import { collections } from '../../schemas/documents.ts';
import { openDatabase } from '../sets/database.ts';

const HOUR_MS = 3_600_000;
const database = openDatabase();
const counters = () => createCounterStore(database.db);
const keep = (count: number) => counters().keepPartitionCount('ingest.devices', count);
beforeEach(() => database.db.collection(collections.counters).deleteMany());

it('another number of partitions than the data was written with is refused, and both are named', async () => {
  await keep(4);
  await keep(4);
  await expect(keep(6)).rejects.toThrow(StartRefused);
  await expect(keep(6)).rejects.toThrow(/ingest\.devices has 6 partitions.* with 4:.*HEADRACE_PARTITIONS=4/);
  await keep(4);
});

it('more partitions than slots are refused', async () => {
  await expect(keep(17)).rejects.toThrow(/ingest\.devices has 17 partitions.*HEADRACE_SLOTS=16/);
  await counters().keepSlotCount(64);
  await keep(64);
});

it('another number of slots than the data was written with is refused', async () => {
  await counters().keepSlotCount(16);
  await expect(counters().keepSlotCount(64)).rejects.toThrow(/written with 16 slots, not 64: set it to 16/);
  await counters().keepSlotCount(16);
});

it('a lease has one holder, who may renew it; it passes on when it ends or runs out', async () => {
  const { takeLease, renewLease, endLease } = counters();
  expect(await takeLease('file', 'one', HOUR_MS)).toBe(true);
  expect(await takeLease('file', 'two', HOUR_MS)).toBe(false);
  expect(await renewLease('file', 'two', HOUR_MS)).toBe(false);
  // The lease expired an hour ago.
  expect(await renewLease('file', 'one', -HOUR_MS)).toBe(true);
  expect(await takeLease('file', 'two', HOUR_MS)).toBe(true);
  expect(await renewLease('file', 'one', HOUR_MS)).toBe(false);
  await endLease('file', 'one');
  expect(await takeLease('file', 'one', HOUR_MS)).toBe(false);
  await endLease('file', 'two');
  expect(await takeLease('file', 'one', HOUR_MS)).toBe(true);
});
