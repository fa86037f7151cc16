/**
 * Privacy: what a long suppression list costs a load, what a deletion costs in a full marketplace, and how long it takes to match a
 * deletion list.
 */
import { randomFillSync } from 'node:crypto';
import { createGenerator } from '../../../deploy/cli/load/generate.ts';
import { createIdentifiers } from '../../../deploy/cli/load/identifiers.ts';
import { digestsOf } from '../../../pipeline/formats/device-digest.ts';
import { createDigestTable } from '../../../pipeline/formats/digest-table.ts';
import { WORDS } from '../../../pipeline/formats/identifier.ts';
import { createDeviceSets } from '../../../pipeline/sets/device-sets.ts';
import { collections, spaces } from '../../../schemas/documents.ts';
import type { Bench } from '../bench-stack.ts';
import { type CountCheck, checkAudience, checkCount } from '../check-counts.ts';
import { count, seconds } from '../format.ts';
import { flush } from '../observe-storage.ts';
import { median } from '../rounds.ts';
import { storeAttributes } from '../store-space.ts';
import { atMost, type Benchmark } from '../table.ts';
import { uploadFile, uploadPrefix } from '../upload.ts';

const DIGEST_BYTES = 32;
const FILES = 8;
const LISTED_AT_ONCE = 5_000_000;
const REQUESTED = 10_000;
const WARM_UP = 100;
const WARM_UP_ROUNDS = 2;
const ROUNDS = 7;
const DELETIONS = 5;

/** Random entries that match no device; the list is not in use yet. */
async function listAtRandom({ stack: { db }, progress, signal }: Bench, entries: number): Promise<void> {
  const sets = createDeviceSets(db);
  for (let from = 0, number = 1; from < entries; from += LISTED_AT_ONCE, number++) {
    signal.throwIfAborted();
    const digests = new Uint8Array(Math.min(LISTED_AT_ONCE, entries - from) * DIGEST_BYTES);
    await sets.listDigests(randomFillSync(digests), { number, key: 1 });
    progress.live(`listed ${count(from)} of ${count(entries)} digests`);
  }
  await db.collection(collections.suppressionLists).deleteMany({});
  await flush(db);
  progress.step(`listed ${count(entries)} digests`);
}

/**
 * Every load creates a new audience, so all of its rows are new. The service reads with every merge which lists are in use: rounds
 * with and without the list alternate, because a shared machine may be half as fast minutes later.
 */
async function measureLoads(bench: Bench, rows: number, entries: number, seed: number) {
  const { stack, signal } = bench;
  const generator = createGenerator({ seed, duplicates: 0, keys: ['visit'] });
  await uploadPrefix(bench, generator, { prefix: 'new/', rows, files: FILES, gzip: false });
  await listAtRandom(bench, entries);
  const lists = stack.db.collection<{ _id: string }>(collections.suppressionLists);
  const checks: CountCheck[] = [];
  const took = { unused: [] as number[], used: [] as number[] };
  for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round++)
    for (const situation of ['used', 'unused'] as const) {
      if (situation === 'used') await lists.insertOne({ _id: spaces.digests });
      const { record, seconds } = await stack.calls.load('b', 'new/', false, { everyMs: 100, signal });
      await lists.deleteMany({});
      checks.push(...checkAudience(record, rows, rows));
      if (round >= WARM_UP_ROUNDS) took[situation].push(seconds);
    }
  return { ...took, unusedMedian: median(took.unused), usedMedian: median(took.used), checks };
}

async function storeDevices(bench: Bench, devices: number, seed: number): Promise<void> {
  const [key] = await bench.stack.attributes(1);
  await storeAttributes(bench, { seed, numbers: devices, keys: [{ key: key!, ranges: [[0, devices]] }] });
}

/** Deletes the first devices, then several times as many others; the median of these. */
async function measureDeletions({ stack, signal }: Bench, requested: number, seed: number) {
  const remove = async (path: string, first: number, rows: number) => {
    const generator = createGenerator({ seed, duplicates: 0, keys: ['x'], firstDevice: first });
    await uploadFile(stack.partner, path, generator.nextFile({ rows }).bytes);
    const { record, seconds } = await stack.calls.privacy(
      { type: 'delete', file_path: path },
      { everyMs: 20, signal },
    );
    return { seconds, check: checkCount('devices that were found', rows, record.found) };
  };
  const checks = [(await remove('first.csv', 0, WARM_UP)).check];
  const took: number[] = [];
  for (let round = 0; round < DELETIONS; round++) {
    const { seconds, check } = await remove(`${round}.csv`, WARM_UP + round * requested, requested);
    took.push(seconds);
    checks.push(check);
  }
  return { took, seconds: median(took), checks };
}

/** Matches the first devices, among digests that match none. */
async function measureMatching(
  { stack: { db }, progress }: Bench,
  hashes: number,
  stored: number,
  seed: number,
) {
  const identifiers = createIdentifiers(seed);
  const wanted = Math.min(stored, Math.ceil(hashes / 100));
  const words = new Uint32Array(wanted * WORDS);
  for (let device = 0; device < wanted; device++) identifiers.writeWords(words, device * WORDS, device);
  const digests = randomFillSync(new Uint8Array(hashes * DIGEST_BYTES));
  digests.set(digestsOf(new Uint8Array(words.buffer)));
  let matches = 0;
  const since = performance.now();
  await createDeviceSets(db).match(createDigestTable(digests), {
    onMatch: () => {
      matches++;
    },
    onPart: (read, of) => progress.live(`matched ${count(read)} of ${count(of)} devices`),
  });
  const checks = [checkCount('devices that match', wanted, matches)];
  return { seconds: (performance.now() - since) / 1_000, checks };
}

export const privacy: Benchmark = {
  name: 'privacy',
  async measure({ runOn, sized, seed }) {
    const rows = sized(4_000_000);
    const entries = sized(100_000_000);
    const devices = sized(20_000_000);
    const hashes = sized(10_000_000);
    const few = 2 * DELETIONS * REQUESTED;
    const requested = Math.min(REQUESTED, Math.floor((devices - WARM_UP) / DELETIONS));
    const loads = await runOn('a suppression list', (bench) => measureLoads(bench, rows, entries, seed));
    const small = await runOn('a small marketplace', async (bench) => {
      await storeDevices(bench, few, seed);
      return measureDeletions(bench, requested, seed);
    });
    const { matching, large } = await runOn('a large marketplace', async (bench) => {
      await storeDevices(bench, devices, seed);
      const matching = await measureMatching(bench, hashes, devices, seed);
      return { matching, large: await measureDeletions(bench, requested, seed) };
    });
    const lost = 100 * (loads.usedMedian / loads.unusedMedian - 1);
    return {
      rows: [
        atMost(
          {
            what: `load of ${count(rows)} new rows: suppression list of ${count(entries)} entries not in use; in use`,
            small: seconds(loads.unusedMedian),
            full: seconds(loads.usedMedian),
          },
          lost,
          5,
          '% longer',
        ),
        atMost(
          {
            what: `deletion of ${count(requested)} devices, median of ${DELETIONS}: of ${count(few)}; of ${count(devices)}`,
            small: seconds(small.seconds),
            full: seconds(large.seconds),
          },
          large.seconds / small.seconds,
          3,
        ),
        atMost(
          {
            what: `matching of ${count(hashes)} hashes with ${count(devices)} devices`,
            small: '',
            full: seconds(matching.seconds),
          },
          matching.seconds,
          60,
          's',
        ),
      ],
      checks: [...loads.checks, ...small.checks, ...large.checks, ...matching.checks],
      details: { loads, small, large, matching },
    };
  },
};
