/** A full installation, stored directly: what the pipeline would need hours for. The documents are those that the sink writes. */
import { createDeviceSets } from '../../pipeline/sets/device-sets.ts';
import { sortDistinct } from '../../pipeline/sets/packed.ts';
import { type AudienceDocument, collections, setNames } from '../../schemas/documents.ts';
import { SLOTS } from '../../schemas/topics.ts';
import type { Bench } from './bench-stack.ts';
import { createDevicePool, type NumberRange } from './device-pool.ts';
import { createGenerator } from './generate.ts';
import { flush } from './observe-storage.ts';
import { uploadFile } from './upload.ts';

/** The number of the event "(other)", which needs no dictionary. */
const OTHER_EVENT = 1;

/** What one key has: an attribute in the marketplace, an event in an audience. */
export interface StoredKey {
  readonly key: number;
  readonly ranges: readonly NumberRange[];
}

export interface StoredSpace {
  /** Without one: the marketplace. */
  readonly audience?: { readonly id: number; readonly generation: number };
  /** Devices are those that a generator with this seed numbers; no range goes beyond `numbers`. */
  readonly seed: number;
  readonly numbers: number;
  readonly keys: readonly StoredKey[];
}

export async function storeSpace(
  { stack: { db }, progress, signal }: Bench,
  { audience, seed, numbers, keys }: StoredSpace,
): Promise<void> {
  const sets = createDeviceSets(db, { cacheBytes: 0 });
  const pool = createDevicePool(seed, numbers);
  const setOf = (key: number) =>
    audience ? setNames.audience(audience.id, audience.generation) : setNames.attribute(key);
  for (let slot = 0; slot < SLOTS; slot++) {
    signal.throwIfAborted();
    for (const { key, ranges } of keys)
      await sets.add(
        [{ set: setOf(key), slot, devices: sortDistinct(pool.inSlot(slot, ranges)) }],
        async () => true,
      );
    progress.live(`stored ${slot + 1} of ${SLOTS} slots`);
  }
  await flush(db);
  progress.step(`stored ${keys.length} keys of ${numbers} devices`);
}

/** An audience with these devices and one event. It is cleared first, so that no load has written to its generation. */
export async function storeAudience(bench: Bench, seed: number, devices: number): Promise<number> {
  const { stack, signal } = bench;
  const { bytes } = createGenerator({ seed, duplicates: 0, keys: ['first'] }).nextFile({ rows: 1 });
  await uploadFile(stack.partner, 'stored/first.csv', bytes);
  const { id } = await stack.calls.load('b', 'stored/first.csv', false, { everyMs: 50, signal });
  await stack.calls.clear(id);
  await storeSpace(bench, {
    audience: { id, generation: 2 },
    seed,
    numbers: devices,
    keys: [{ key: OTHER_EVENT, ranges: [[0, devices]] }],
  });
  await stack.db
    .collection<AudienceDocument>(collections.audiences)
    .updateOne({ _id: id }, { $set: { uniqueDevices: devices } });
  return id;
}
