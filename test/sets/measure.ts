/**
 * How fast device sets are, on a database of its own at HEADRACE_MONGO_URL:
 * `HEADRACE_MONGO_URL=mongodb://… npx tsx test/sets/measure.ts`
 */
import { MongoClient } from 'mongodb';
import { createDeviceSets } from '../../pipeline/sets/device-sets.ts';
import { DEVICE_BYTES, sortDistinct, union } from '../../pipeline/sets/packed.ts';
import { ensureIndexes } from '../../pipeline/stores/indexes.ts';
import { setNames } from '../../schemas/documents.ts';
import { randomDevices } from './devices.ts';

const SLOTS = 16;
const owner = async () => true;

async function timed<T>(what: string, work: () => Promise<T>): Promise<{ ms: number; result: T }> {
  const start = performance.now();
  const result = await work();
  const ms = performance.now() - start;
  console.info(`${what}: ${ms.toFixed(0)} ms`);
  return { ms, result };
}

const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1]!;

const client = new MongoClient(process.env.HEADRACE_MONGO_URL ?? '', {
  writeConcern: { w: 'majority', journal: true },
});
const db = client.db(`measure-${process.pid}`);
const open = (cacheBytes?: number) => createDeviceSets(db, cacheBytes === undefined ? {} : { cacheBytes });

/** The same number of devices in every slot; seeds tell sets apart. */
async function addEverywhere(sets: ReturnType<typeof open>, set: string, devices: number, seed: number) {
  for (let slot = 0; slot < SLOTS; slot++) {
    const devicesInSlot = randomDevices(Math.round(devices / SLOTS), seed * SLOTS + slot);
    await sets.add([{ set, slot, devices: devicesInSlot }], owner);
  }
}

async function measureSort(): Promise<void> {
  for (const count of [10, 1_000, 100_000, 1_000_000, 2_000_000]) {
    const sorted = randomDevices(count, 1);
    const shuffled = new Uint8Array(sorted.byteLength);
    for (let i = 0; i < count; i++) {
      const from = ((i * 7_919) % count) * DEVICE_BYTES;
      shuffled.set(sorted.subarray(from, from + DEVICE_BYTES), i * DEVICE_BYTES);
    }
    const rounds = Math.max(3, Math.round(2_000_000 / count));
    const start = performance.now();
    for (let i = 0; i < rounds; i++) sortDistinct(shuffled);
    const seconds = (performance.now() - start) / 1_000;
    console.info(`sort ${count}: ${((count * rounds) / seconds / 1e6).toFixed(1)} M devices/s`);
  }
}

async function measureAppend(): Promise<void> {
  const sets = open();
  const big = setNames.attribute(1);
  await timed('create 10,000,000', () => addEverywhere(sets, big, 10_000_000, 1));
  for (const [name, cacheBytes] of [
    ['no cache', 0],
    ['64 MiB cache', 64 << 20],
    ['256 MiB cache', 256 << 20],
  ] as const) {
    const own = open(cacheBytes);
    const created: number[] = [];
    const appended: number[] = [];
    for (let i = 0; i < 7; i++) {
      const seed = 1_000 + cacheBytes / 1_024 + i;
      created.push(
        (await timed('  create 10,000', () => addEverywhere(own, `new:${seed}`, 10_000, seed))).ms,
      );
      appended.push(
        (await timed('  add 10,000 to 10 M', () => addEverywhere(own, big, 10_000, seed + 50))).ms,
      );
    }
    console.info(`${name}: ratio ${(median(appended) / median(created)).toFixed(1)}`);
  }
}

async function measureOverlap(): Promise<void> {
  const sets = open();
  const audience = setNames.audience(1, 1);
  const attributes = 200;
  for (let slot = 0; slot < SLOTS; slot++) {
    const own = randomDevices(1_000_000 / SLOTS, slot);
    await sets.add([{ set: audience, slot, devices: own }], owner);
    const half = Math.round(50_000 / SLOTS);
    for (let attribute = 0; attribute < attributes; attribute++) {
      const start = (attribute * 97) % (own.byteLength / DEVICE_BYTES - half);
      const common = own.subarray(start * DEVICE_BYTES, (start + half) * DEVICE_BYTES);
      const devices = union([common, randomDevices(half, 10_000 + attribute * SLOTS + slot)]);
      await sets.add([{ set: setNames.attribute(100 + attribute), slot, devices }], owner);
    }
  }
  for (let round = 0; round < 3; round++) {
    const { result } = await timed('composition of 1,000,000 with 200 attributes of 100,000', async () => {
      let matched = 0;
      let pairs = 0;
      for (let slot = 0; slot < SLOTS; slot++) {
        const overlap = await open().overlap(audience, slot);
        matched += overlap.matched;
        for (const { count } of overlap.byAttribute) pairs += count;
      }
      return { matched, pairs };
    });
    console.info(`  ${result.matched} matched, ${result.pairs} pairs`);
  }
}

try {
  await ensureIndexes(db);
  await measureSort();
  await measureOverlap();
  await db.dropDatabase();
  await ensureIndexes(db);
  await measureAppend();
} finally {
  await db.dropDatabase();
  await client.close();
}
