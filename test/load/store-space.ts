/** Fills an installation directly, in the sink's format; the pipeline would need hours for it. */

import { createGenerator } from '../../deploy/cli/load/generate.ts';
import { IDENTIFIER_BYTES } from '../../pipeline/formats/identifier.ts';
import { createDeviceSets } from '../../pipeline/sets/device-sets.ts';
import { Pairs, sortPairs } from '../../pipeline/sets/sort-pairs.ts';
import { createAttributeDeviceStore } from '../../pipeline/stores/attribute-devices.ts';
import { type AudienceDocument, collections, spaces } from '../../schemas/documents.ts';
import { DEFAULT_SLOTS } from '../../schemas/topics.ts';
import { slotTarget } from '../support/slot-target.ts';
import type { Bench } from './bench-stack.ts';
import { createDevicePool, type NumberRange } from './device-pool.ts';
import { flush } from './observe-storage.ts';
import { uploadFile } from './upload.ts';

/** Sorts before the first job, number 1: a slot takes jobs in order. */
const BEFORE_ALL_JOBS = 0.5;
const NOBODY = 'nobody';
/** The number of the event "(other)", which needs no dictionary. */
const OTHER_EVENT = 1;

/** The devices of an attribute in the marketplace, or of an event in an audience. */
interface StoredKey {
  readonly key: number;
  readonly ranges: readonly NumberRange[];
}

interface StoredSpace {
  readonly space: string;
  /** The devices are numbered by a generator with this seed; no range goes beyond `numbers`. */
  readonly seed: number;
  readonly numbers: number;
  readonly keys: readonly StoredKey[];
}

/** Keeps one slot at a time in memory. */
export async function storeSpace(
  { stack: { db }, progress, signal }: Bench,
  { space, seed, numbers, keys }: StoredSpace,
): Promise<void> {
  const sets = createDeviceSets(db);
  const { hash } = await sets.placement();
  const pool = createDevicePool(seed, numbers, hash);
  for (let slot = 0; slot < DEFAULT_SLOTS; slot++) {
    signal.throwIfAborted();
    const pairs = new Pairs();
    for (const { key, ranges } of keys) {
      const devices = pool.inSlot(slot, ranges);
      pairs.add(devices, 0, devices.length / IDENTIFIER_BYTES, key, 0);
    }
    const { devices } = sortPairs(pairs, hash);
    await sets.merge(slotTarget({ space, slot, job: BEFORE_ALL_JOBS, partner: NOBODY }), async function* () {
      yield devices;
    });
    progress.live(`stored ${slot + 1} of ${DEFAULT_SLOTS} slots`);
  }
  await flush(db);
  progress.step(`stored ${keys.length} keys over ${numbers} devices`);
}

/** Stores the marketplace and the counts of its attributes. The ranges of a key must not overlap. */
export async function storeAttributes(bench: Bench, stored: Omit<StoredSpace, 'space'>): Promise<void> {
  await storeSpace(bench, { ...stored, space: spaces.marketplace });
  const added = stored.keys.map(({ key, ranges }): [number, number] => [
    key,
    ranges.reduce((sum, [from, to]) => sum + (to - from), 0),
  ]);
  await createAttributeDeviceStore(bench.stack.db).record([
    { job: BEFORE_ALL_JOBS, partner: NOBODY, added: new Map(added) },
  ]);
}

/** Stores an audience with these devices and one event. Clears it first, so that no load has written to its generation. */
export async function storeAudience(
  bench: Bench,
  seed: number,
  devices: number,
  { partner, calls }: Pick<Bench['stack'], 'partner' | 'calls'> = bench.stack,
): Promise<number> {
  const { stack, signal } = bench;
  const { bytes } = createGenerator({ seed, duplicates: 0, keys: ['first'] }).nextFile({ rows: 1 });
  await uploadFile(partner, 'stored/first.csv', bytes);
  const { id } = await calls.load('b', 'stored/first.csv', false, { everyMs: 50, signal });
  await calls.clear(id);
  await storeSpace(bench, {
    space: spaces.audience(id, 2),
    seed,
    numbers: devices,
    keys: [{ key: OTHER_EVENT, ranges: [[0, devices]] }],
  });
  await stack.db
    .collection<AudienceDocument>(collections.audiences)
    .updateOne({ _id: id }, { $set: { uniqueDevices: devices } });
  return id;
}
