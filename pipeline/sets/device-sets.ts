/**
 * Device sets in MongoDB: exact, packed, safe against an owner that does not know that it has been replaced.
 *
 * A set's part in a slot is one manifest with an inline part and a list of immutable chunks; no device is in two of them, so
 * counts are sums. Every change is one compare-and-set on the manifest's version. Nothing here needs a transaction.
 * The database's client must write with majority and journal.
 */
import type { Db } from 'mongodb';
import { type Fits, inGroups, within } from '../runtime/in-groups.ts';
import { type Added, type Addition, tryToAdd } from './add-devices.ts';
import { createChunkCache } from './chunk-cache.ts';
import { createChunks } from './chunks.ts';
import { type CompositionRequest, composeSlot, type SlotComposition } from './compose-slot.ts';
import { between, type Dropped, removeSetsForGood, tryToDrop } from './drop-sets.ts';
import { defaultLayout, type Layout } from './layout.ts';
import { createManifests, type Manifest, manifestCollection, manifestId } from './manifests.ts';
import { hasAttributes, type Overlap, overlapWithAttributes } from './overlap.ts';
import { isPackedSet, union } from './packed.ts';
import { type Fence, settle, settleAll } from './races.ts';
import { createOrphanSweep } from './sweep.ts';

export type { Added, Addition } from './add-devices.ts';
export type { CompositionRequest, SlotComposition } from './compose-slot.ts';
export { createDistinctCounter } from './distinct-counter.ts';
export type { Dropped } from './drop-sets.ts';
export { ContendedError, FencedError } from './errors.ts';
export type { Overlap } from './overlap.ts';
export type { Fence } from './races.ts';

export interface DeviceSetsOptions {
  /** Bytes of chunks kept in memory. */
  cacheBytes?: number;
  layout?: Partial<Layout>;
}

export type DeviceSets = ReturnType<typeof createDeviceSets>;

/** Bounds of one round: its manifests are read and written together. */
const ROUND_ADDITIONS = 1_000;
const ROUND_BYTES = 16 << 20;

export function createDeviceSets(db: Db, options: DeviceSetsOptions = {}) {
  const manifests = createManifests(db);
  const chunks = createChunks(db, createChunkCache(options.cacheBytes ?? 64 << 20));
  const layout = { ...defaultLayout, ...options.layout };
  const addDeps = { manifests, chunks, layout };

  async function read(set: string, slot: number): Promise<Uint8Array> {
    return settle(async () => {
      const [manifest] = await manifests.read([{ set, slot }]);
      const parts = await partsOf(manifest!);
      return parts && union(parts);
    });
  }

  async function partsOf(manifest: Manifest): Promise<Uint8Array[] | undefined> {
    const parts = [manifest.inline];
    const requests = manifest.chunks.map((entry) => ({ entry, for: undefined }));
    for await (const group of chunks.load(requests, false)) {
      for (const { devices } of group) {
        if (!devices) return undefined;
        parts.push(devices);
      }
    }
    return parts;
  }

  return {
    read,

    /** Merges each addition into its set. All are in when this resolves; a repeated one changes nothing. */
    async add(additions: Addition[], fence: Fence): Promise<Added[]> {
      for (const { set, slot, devices } of additions) {
        if (!isPackedSet(devices))
          throw new TypeError(`devices for ${manifestId(set, slot)} are not a packed set`);
      }
      const results: Added[] = [];
      for (const round of inGroups(additions, newRound)) {
        results.push(...(await settleAll(round, fence, (open) => tryToAdd(addDeps, open, fence))));
      }
      return results;
    },

    /** Empties sets in a slot and says what each of them held. May be repeated. */
    async drop(sets: string[], slot: number, fence: Fence): Promise<Dropped[]> {
      const dropped = await settleAll([...new Set(sets)], fence, (open) =>
        tryToDrop({ manifests, chunks }, open, slot, fence),
      );
      const removed = new Map(dropped.map((one) => [one.set, one]));
      return sets.map((set) => removed.get(set)!);
    },

    /** Removes a set that will never be written again (an audience's old generation) and its events, in every slot. */
    removeForGood: (set: string): Promise<void> => removeSetsForGood(db, set),

    /** Every set whose name begins so. */
    named: (prefix: string): Promise<string[]> =>
      manifestCollection(db).distinct('set', { set: between(prefix) }),

    /** What a set shares with the attributes, in one slot. Sums over slots are exact: a device is in one slot. */
    async overlap(set: string, slot: number): Promise<Overlap> {
      if (!(await hasAttributes(db, slot))) {
        const [manifest] = await manifests.read([{ set, slot }]);
        return { devices: manifest!.count, matched: 0, byAttribute: [] };
      }
      return overlapWithAttributes({ db, manifests, chunks }, await read(set, slot), slot);
    },

    /** What the composition of an audience needs to know about one slot. */
    compose: async (request: CompositionRequest, slot: number): Promise<SlotComposition> =>
      composeSlot({ db, manifests, chunks }, await read(request.set, slot), request, slot),

    sweepOrphans: createOrphanSweep(db, chunks),
  };
}

/** A round is bounded in size, and no set's slot comes twice in it. */
function newRound(): Fits<Addition> {
  const isWithin = within<Addition>(
    { bytes: ROUND_BYTES, count: ROUND_ADDITIONS },
    (one) => one.devices.byteLength,
  )();
  const targets = new Set<string>();
  return (addition) => {
    const target = manifestId(addition.set, addition.slot);
    const isNew = !targets.has(target);
    targets.add(target);
    return isWithin(addition) && isNew;
  };
}
