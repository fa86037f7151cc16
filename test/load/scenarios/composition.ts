/** The composition report of a large audience over REST, and how the API answers others meanwhile. The sets are stored directly. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createDeviceSets } from '../../../pipeline/sets/device-sets.ts';
import { DEVICE_BYTES, union } from '../../../pipeline/sets/packed.ts';
import { type AudienceDocument, collections, setNames } from '../../../schemas/documents.ts';
import { SLOTS } from '../../../schemas/topics.ts';
import { randomDevices } from '../../sets/devices.ts';
import type { Bench } from '../bench-stack.ts';
import { type CountCheck, checkCount } from '../check-counts.ts';
import { flush } from '../observe-storage.ts';
import { median, type Percentiles, percentiles } from '../percentiles.ts';

const ROUNDS = 3;
const POLL_MS = 200;
const always = async () => true;

export interface CompositionOptions {
  readonly devices: number;
  readonly attributes: number;
  /** Devices of each attribute, half of which the audience has too. */
  readonly attributeDevices: number;
  readonly seed: number;
}

export interface CompositionResult {
  readonly options: CompositionOptions;
  /** From POST to the report, of each round; the first starts the thread, and none of them knows anything of the one before. */
  readonly seconds: number[];
  readonly medianSeconds: number;
  /** With the distinct devices of the marketplace known from another report. */
  readonly knownSeconds: number;
  /** Of GET /v1/marketplace/import during the computations, in milliseconds. */
  readonly others: Percentiles;
  readonly checks: CountCheck[];
}

interface Expected {
  readonly audience: number;
  readonly attributes: readonly number[];
  readonly devices: number;
  readonly matched: number;
  readonly marketplace: number;
  /** Of each attribute, over all slots. */
  readonly common: number;
}

/** An audience whose load found no file: its devices are stored here. */
async function createAudience({ stack, signal }: Bench): Promise<number> {
  const audience = await stack.calls.queue('b', 'none/');
  const isDone = async () => Number((await stack.calls.read('b', audience)).status) >= 2;
  while (!(await isDone())) await sleep(POLL_MS, undefined, { signal });
  return audience;
}

async function store(bench: Bench, options: CompositionOptions): Promise<Expected> {
  const { stack, progress, signal } = bench;
  const sets = createDeviceSets(stack.db, { cacheBytes: 0 });
  const audience = await createAudience(bench);
  const attributes = await stack.attributes(options.attributes);
  const perSlot = Math.round(options.devices / SLOTS);
  const half = Math.round(options.attributeDevices / SLOTS / 2);
  let matched = 0;
  for (let slot = 0; slot < SLOTS; slot++) {
    signal.throwIfAborted();
    const own = randomDevices(perSlot, options.seed * 1_000 + slot);
    const covered = new Uint8Array(perSlot);
    const additions = [{ set: setNames.audience(audience, 1), slot, devices: own }];
    for (const [i, attribute] of attributes.entries()) {
      const start = (i * 97) % (perSlot - half);
      covered.fill(1, start, start + half);
      const common = own.subarray(start * DEVICE_BYTES, (start + half) * DEVICE_BYTES);
      const others = randomDevices(half, options.seed * 1_000_000 + i * SLOTS + slot);
      additions.push({ set: setNames.attribute(attribute), slot, devices: union([common, others]) });
    }
    await sets.add(additions, always);
    matched += covered.reduce((sum, bit) => sum + bit, 0);
    progress.live(`stored slot ${slot + 1} of ${SLOTS}`);
  }
  const devices = perSlot * SLOTS;
  await stack.db
    .collection<AudienceDocument>(collections.audiences)
    .updateOne({ _id: audience }, { $set: { uniqueDevices: devices } });
  const common = half * SLOTS;
  return {
    audience,
    attributes,
    devices,
    matched,
    marketplace: matched + common * options.attributes,
    common,
  };
}

/** Calls the API again and again while the work runs, and says how long each call took. */
async function whileCalling(bench: Bench, work: () => Promise<void>): Promise<number[]> {
  const times: number[] = [];
  let isDone = false;
  const calling = (async () => {
    while (!isDone) {
      const since = performance.now();
      await bench.stack.calls.listImports();
      times.push(performance.now() - since);
      await sleep(50);
    }
  })();
  try {
    await work();
  } finally {
    isDone = true;
    await calling;
  }
  return times;
}

function check(expected: Expected, report: Record<string, unknown>): CountCheck[] {
  const rows = report.attributes as { attribute_id: number; devices: number }[];
  return [
    checkCount('unique devices', expected.devices, report.unique_devices),
    checkCount('matched devices', expected.matched, report.matched_devices),
    checkCount('marketplace devices', expected.marketplace, report.marketplace_devices),
    checkCount('attributes', expected.attributes.length, rows.length),
    ...rows.map(({ attribute_id, devices }) =>
      checkCount(`common with attribute ${attribute_id}`, expected.common, devices),
    ),
  ];
}

export async function measureComposition(
  bench: Bench,
  options: CompositionOptions,
): Promise<CompositionResult> {
  const { stack, progress, signal } = bench;
  const expected = await store(bench, options);
  await flush(stack.db);
  const wait = { everyMs: POLL_MS, signal };
  const seconds: number[] = [];
  const checks: CountCheck[] = [];
  const others = await whileCalling(bench, async () => {
    for (let round = 0; round < ROUNDS; round++) {
      await stack.db.collection(collections.compositions).deleteMany({});
      const composed = await stack.calls.compose(expected.audience, wait);
      seconds.push(composed.seconds);
      checks.push(...check(expected, composed.report));
      progress.live(`report ${round + 1}: ${composed.seconds.toFixed(2)} s`);
    }
  });
  const known = await stack.calls.compose(expected.audience, wait);
  checks.push(...check(expected, known.report));
  return {
    options,
    seconds,
    medianSeconds: median(seconds),
    knownSeconds: known.seconds,
    others: percentiles(others),
    checks,
  };
}
