/** Large removals: in bounded memory, without blocking other partners. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createDeviceSets } from '../../../pipeline/sets/device-sets.ts';
import { collections, spaces } from '../../../schemas/documents.ts';
import type { PageDocument } from '../../../schemas/stage-documents.ts';
import { type Meanwhile, prepareAnother } from '../another-partner.ts';
import type { Bench } from '../bench-stack.ts';
import { checkCount, checkSpace } from '../check-counts.ts';
import { seconds } from '../format.ts';
import { storeAttributes, storeAudience } from '../store-space.ts';
import { atMost, type Benchmark, type TableRow } from '../table.ts';
import { pipelinePeakMb, watchRun } from '../watch-run.ts';

/** Max extra time of another partner's small load, beyond the jobs ahead of it. */
const PATIENCE_SECONDS = 2;

/** Peak memory, and the delay of others; a deletion is ahead of them in the queue, a clear is not. */
function rowOf(
  compared: Pick<TableRow, 'what' | 'small' | 'full'>,
  peakMb: number,
  { loads, slowest }: Meanwhile,
  ahead: number,
): TableRow {
  const row = atMost(compared, peakMb, 700, 'MB');
  return {
    ...row,
    result: `${row.result}; ${loads.length} loads of another partner meanwhile, slowest ${seconds(slowest)}`,
    bar: `${row.bar}; others wait ≤ ${PATIENCE_SECONDS} s${ahead > 0 ? ' longer than the deletion takes' : ''}`,
    passed: row.passed && slowest <= ahead + PATIENCE_SECONDS,
  };
}

/** Every device has two of the keys, and the first devices also a key that stays. */
async function measureDeletion(bench: Bench, keys: number, keyDevices: number, seed: number) {
  const { stack, signal } = bench;
  const half = Math.ceil(keyDevices / 2);
  const [single, kept, ...many] = await stack.attributes(keys + 2);
  const numbers = (keys + 1) * half;
  await storeAttributes(bench, {
    seed,
    numbers: numbers + half,
    keys: [
      { key: single!, ranges: [[numbers, numbers + half]] },
      { key: kept!, ranges: [[0, half]] },
      ...many.map((key, i) => ({ key, ranges: [[i * half, (i + 2) * half] as const] })),
    ],
  });
  const wait = { everyMs: 20, signal };
  const small = await stack.calls.deleteKeys([String(single)], wait);
  const another = await prepareAnother(bench);
  const { result, use } = await watchRun(bench, () =>
    another.during(() => stack.calls.deleteKeys(many.map(String), wait)),
  );
  const { result: full, meanwhile } = result;
  const checks = [
    checkCount('devices of the small deletion', half, small.record.unique_devices),
    checkCount('pairs of the small deletion', half, small.record.total_rows),
    checkCount('devices of the deletion', numbers, full.record.unique_devices),
    checkCount('pairs of the deletion', 2 * half * keys, full.record.total_rows),
    await checkSpace(stack.db, spaces.marketplace, half),
    ...meanwhile.checks,
  ];
  return { small: small.seconds, full: full.seconds, peakMb: pipelinePeakMb(use), meanwhile, checks };
}

export const deletion: Benchmark = {
  name: 'deletion',
  async measure({ runOn, sized, seed }) {
    const result = await runOn('deletion', (bench) => measureDeletion(bench, 1_000, sized(10_000), seed));
    const { small, full, peakMb, meanwhile, checks } = result;
    const compared = {
      what: 'deletion: of one key of 5,000 devices; of 1,000 keys of 10,000 devices each',
      small: seconds(small),
      full: seconds(full),
    };
    return { rows: [rowOf(compared, peakMb, meanwhile, full)], checks, details: result };
  },
};

/** Times the response and the removal behind it. */
async function timeClear({ stack, signal }: Bench, id: number) {
  const sets = createDeviceSets(stack.db);
  const since = performance.now();
  await stack.calls.clear(id);
  const answered = (performance.now() - since) / 1_000;
  while ((await sets.spacesOf([id])).length > 0) await sleep(200, undefined, { signal });
  return { answered, removed: (performance.now() - since) / 1_000 };
}

const pagesOf = ({ stack: { db } }: Bench, space: string) =>
  db
    .collection<PageDocument>(collections.pages)
    .countDocuments({ _id: { $gte: `${space}#`, $lt: `${space}#~` } });

async function measureClear(bench: Bench, devices: number, seed: number) {
  const { stack } = bench;
  const small = await timeClear(bench, await storeAudience(bench, seed, 10_000));
  const id = await storeAudience(bench, seed, devices);
  const another = await prepareAnother(bench);
  const { result, use } = await watchRun(bench, () => another.during(() => timeClear(bench, id)));
  const { result: full, meanwhile } = result;
  const checks = [
    checkCount('devices after the clear', 0, (await stack.calls.read('b', id)).unique_devices),
    checkCount('pages after the clear', 0, await pagesOf(bench, spaces.audience(id, 2))),
    ...meanwhile.checks,
  ];
  return { small, full, peakMb: pipelinePeakMb(use), meanwhile, checks };
}

export const clear: Benchmark = {
  name: 'clear',
  async measure({ runOn, sized, seed }) {
    const result = await runOn('clear', (bench) => measureClear(bench, sized(20_000_000), seed));
    const { small, full, peakMb, meanwhile, checks } = result;
    const said = ({ answered, removed }: typeof small) =>
      `${(answered * 1_000).toFixed(0)} ms, removed after ${seconds(removed)}`;
    const compared = {
      what: 'clear: of 10,000 devices; of 20 M',
      small: said(small),
      full: said(full),
    };
    return { rows: [rowOf(compared, peakMb, meanwhile, 0)], checks, details: result };
  },
};
