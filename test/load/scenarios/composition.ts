/** An audience against every attribute in one pass, on the device sets alone: no file, no topic. */
import { createDeviceSets } from '../../../pipeline/sets/device-sets.ts';
import { DEVICE_BYTES, union } from '../../../pipeline/sets/packed.ts';
import { setNames } from '../../../schemas/documents.ts';
import { SLOTS } from '../../../schemas/topics.ts';
import { randomDevices } from '../../sets/devices.ts';
import type { Bench } from '../bench-stack.ts';
import { type CountCheck, checkCount } from '../check-counts.ts';
import { flush } from '../observe-storage.ts';
import { median } from '../percentiles.ts';

const ROUNDS = 3;
const AUDIENCE = setNames.audience(1, 1);
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
  /** Of each pass, with nothing in our own cache. */
  readonly seconds: number[];
  readonly medianSeconds: number;
  readonly checks: CountCheck[];
}

interface Expected {
  readonly matched: number;
  /** Of each attribute, over all slots. */
  readonly common: number;
}

async function store({ stack, progress, signal }: Bench, options: CompositionOptions): Promise<Expected> {
  const sets = createDeviceSets(stack.db, { cacheBytes: 0 });
  const perSlot = Math.round(options.devices / SLOTS);
  const half = Math.round(options.attributeDevices / SLOTS / 2);
  let matched = 0;
  for (let slot = 0; slot < SLOTS; slot++) {
    signal.throwIfAborted();
    const own = randomDevices(perSlot, options.seed * 1_000 + slot);
    const covered = new Uint8Array(perSlot);
    const additions = [{ set: AUDIENCE, slot, devices: own }];
    for (let attribute = 0; attribute < options.attributes; attribute++) {
      const start = (attribute * 97) % (perSlot - half);
      covered.fill(1, start, start + half);
      const common = own.subarray(start * DEVICE_BYTES, (start + half) * DEVICE_BYTES);
      const others = randomDevices(half, options.seed * 1_000_000 + attribute * SLOTS + slot);
      additions.push({ set: setNames.attribute(1 + attribute), slot, devices: union([common, others]) });
    }
    await sets.add(additions, always);
    matched += covered.reduce((sum, bit) => sum + bit, 0);
    progress.live(`stored slot ${slot + 1} of ${SLOTS}`);
  }
  return { matched, common: half * SLOTS };
}

export async function measureComposition(
  bench: Bench,
  options: CompositionOptions,
): Promise<CompositionResult> {
  const { stack, progress } = bench;
  const expected = await store(bench, options);
  await flush(stack.db);
  const seconds: number[] = [];
  const checks: CountCheck[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const sets = createDeviceSets(stack.db);
    const since = performance.now();
    let matched = 0;
    const common = new Map<string, number>();
    for (let slot = 0; slot < SLOTS; slot++) {
      const overlap = await sets.overlap(AUDIENCE, slot);
      matched += overlap.matched;
      for (const { set, count } of overlap.byAttribute) common.set(set, (common.get(set) ?? 0) + count);
    }
    seconds.push((performance.now() - since) / 1_000);
    progress.live(`pass ${round + 1}: ${seconds.at(-1)!.toFixed(2)} s`);
    checks.push(checkCount('matched devices', expected.matched, matched));
    checks.push(checkCount('attributes with a common device', options.attributes, common.size));
    for (const [set, count] of common) checks.push(checkCount(`common with ${set}`, expected.common, count));
  }
  return { options, seconds, medianSeconds: median(seconds), checks };
}
