/**
 * Device data in MongoDB: spaces (the marketplace, and each generation of an audience) of devices with their keys; exact and packed. The
 * cost of an operation depends on what it changes. No transactions are needed. The MongoDB client must write with majority and journal.
 */
import { LRUCache } from 'lru-cache';
import type { Db } from 'mongodb';
import { spaces } from '../../schemas/documents.ts';
import type { DigestTable } from '../formats/digest-table.ts';
import { hashOfIdentifier } from '../formats/find-identifiers.ts';
import { addressOf, slotOfHash } from '../formats/identifier.ts';
import { groupBy } from '../runtime/collections.ts';
import { inGroups, within } from '../runtime/in-groups.ts';
import { createOneAtATime } from '../runtime/one-at-a-time.ts';
import { createCounterStore } from '../stores/counters.ts';
import { createLateMatchStore } from '../stores/late-matches.ts';
import { type CompositionRequest, composeSlot, type Pause, type SlotComposition } from './compose-slot.ts';
import { type Found, lookFor } from './count-stored.ts';
import { type Devices, firstKey } from './devices.ts';
import { type Edited, editSlot, type SlotTarget } from './edit-slot.ts';
import { type Erasure, eraseDevices, fenceSlot, finishErasure } from './erase-devices.ts';
import { findHolders } from './find-holders.ts';
import { joinRegion } from './join.ts';
import { type DigestEdit, listDigests, unlistDigests } from './list-digests.ts';
import type { LookedPages } from './looked-pages.ts';
import { createManifests, manifestId, spaceOf } from './manifests.ts';
import { type Matching, matchDigests } from './match-digests.ts';
import { type Merge, mergeDevices } from './merge-devices.ts';
import { wordsOf } from './page-format.ts';
import { createPages } from './pages.ts';
import { createPlacementReader, type PlacementReader } from './placement.ts';
import { devicesOf, readSlot } from './read-regions.ts';
import { defaultLayout, type Layout, rangeIn } from './regions.ts';
import { createRemovals } from './removals.ts';
import { removeKeys } from './remove-keys.ts';
import { Pairs, sortPairs } from './sort-pairs.ts';
import { createSuppressions } from './suppressions.ts';
import { createOrphanSweep } from './sweep-orphans.ts';
import { createUsedLists } from './used-lists.ts';

export type { CompositionRequest, SlotComposition } from './compose-slot.ts';
export type { Edited, SlotChange, SlotTarget } from './edit-slot.ts';
export { createLookedPages, type LookedPages } from './looked-pages.ts';
export type { Merge } from './merge-devices.ts';
export { ContendedError } from './races.ts';

export type DeviceSets = ReturnType<typeof createDeviceSets>;

const RANGES_AT_ONCE = 100;
/** Look-ahead results kept, about 30 bytes per device. */
const MAX_DEVICES_AHEAD = 200_000;

interface Options {
  layout?: Partial<Layout>;
  placement?: PlacementReader;
}

export function createDeviceSets(
  db: Db,
  { layout, placement: placementOf = createPlacementReader(db) }: Options = {},
) {
  const { slotCount } = createCounterStore(db);
  const manifests = createManifests(db, placementOf);
  const pages = createPages(db);
  const stored = { manifests, pages };
  const unkeyed = {
    ...stored,
    removals: createRemovals(pages),
    oneAtATime: createOneAtATime(),
    layout: { ...defaultLayout, ...layout },
  };
  const withHash = async () => ({ ...unkeyed, hash: (await placementOf()).hash });

  const usedLists = createUsedLists(db);
  const suppressedAmong = createSuppressions(usedLists, withHash, slotCount, createLateMatchStore(db).record);

  const ahead = new LRUCache<string, Promise<Found | undefined>>({ maxSize: MAX_DEVICES_AHEAD });
  const aheadId = (space: string, { slot, job }: { slot: number; job: number }) =>
    `${manifestId(space, slot)} ${job}`;

  /** A device in the form of a look-up, and its slot. */
  async function locate(device: Uint8Array): Promise<{ wanted: Devices; slot: number }> {
    const words = wordsOf(device);
    const hash = (await placementOf()).hash(words, 0);
    const wanted: Devices = {
      count: 1,
      words,
      addresses: Uint32Array.of(addressOf(hash)),
      ends: Uint32Array.of(0),
      keys: new Uint32Array(0),
    };
    return { wanted, slot: slotOfHash(hash, await slotCount()) };
  }

  /** The keys of a device in a space; undefined if it is not there. */
  async function keysIn(space: string, { wanted, slot }: Awaited<ReturnType<typeof locate>>) {
    const deps = await withHash();
    let keys: number[] | undefined;
    const hits = {
      onDevice: () => {
        keys ??= [];
      },
      onKey: (key: number) => keys!.push(key),
    };
    for await (const loaded of readSlot(deps, { space, slot }, wanted)) joinRegion(loaded, hits, deps.hash);
    return (keys as number[] | undefined)?.sort((a, b) => a - b);
  }

  return {
    /** Throws if stored devices were placed by another key. */
    placement: placementOf,

    /** Merges devices into a slot, once per job, atomically. */
    async merge(target: Merge, parts: () => AsyncIterable<Devices>): Promise<Edited> {
      if (spaces.isList(target.space)) await usedLists.use(target.space);
      const id = aheadId(target.matchIn ?? '', { slot: target.slot, job: target.jobs.at(-1)!.job });
      const edited = await mergeDevices(await withHash(), { ...target, found: ahead.get(id) }, parts);
      ahead.delete(id);
      return edited;
    },

    /** Matches the devices of a job before its merge, which uses what is still valid of the result. */
    async lookAhead(target: { space: string; slot: number; job: number }, devices: Devices): Promise<void> {
      const found = withHash()
        .then((deps) => lookFor(deps, target, devices))
        .catch(() => undefined);
      ahead.set(aheadId(target.space, target), found, { size: devices.count + 1 });
      await found;
    },

    /** Removes devices, or some of their keys, from a slot, once per job. */
    async erase(target: Erasure, devices: Devices): Promise<Edited> {
      const edited = await eraseDevices(await withHash(), target, devices);
      // Erasures change pages of existing levels, so look-ahead results are invalid.
      ahead.clear();
      return edited;
    },

    /** Makes edits of the slot that are in flight in any process start over. */
    fence: async (target: { space: string; slot: number }): Promise<void> =>
      fenceSlot(await withHash(), target),

    /** The keys of those devices that the slot holds, by index of the device. `looked`: keeps the pages for an erasure. */
    async look(
      target: { space: string; slot: number },
      devices: Devices,
      looked?: LookedPages,
    ): Promise<Map<number, number[]>> {
      const deps = await withHash();
      const found = new Map<number, number[]>();
      const manifest = manifestId(target.space, target.slot);
      for await (const loaded of readSlot(deps, target, devices)) {
        const [from] = rangeIn(devices, loaded.region);
        let keys: number[] = [];
        const onDevice = (n: number) => {
          keys = found.get(from + n) ?? [];
          found.set(from + n, keys);
        };
        joinRegion(loaded, { onDevice, onKey: (key) => keys.push(key) }, deps.hash);
        looked?.add(manifest, loaded);
      }
      return found;
    },

    /** Flags devices that must not be stored. */
    suppressedAmong,
    /** The suppression lists in use for a partner. */
    suppressionLists: usedLists.of,

    /** Those of the identifiers (32 hex digits) that must not be stored for the partner. */
    async suppressedIdentifiers(partner: string, identifiers: string[]): Promise<Set<string>> {
      const { hash } = await placementOf();
      const slots = await slotCount();
      const bySlot = groupBy(identifiers, (each) => slotOfHash(hashOfIdentifier(each, hash), slots));
      const found = new Set<string>();
      for (const [slot, own] of bySlot) {
        const pairs = new Pairs();
        own.forEach((identifier, n) => {
          pairs.add(Buffer.from(identifier, 'hex'), 0, 1, n + 1, 0);
        });
        const { devices } = sortPairs(pairs, hash);
        const flags = await suppressedAmong(partner, slot, devices);
        for (let n = 0; flags && n < devices.count; n++)
          if (flags[n] === 1) found.add(own[devices.keys[firstKey(devices, n)]! - 1]!);
      }
      return found;
    },

    /** Removes keys from a slot, once per job. */
    removeKeys: async (target: SlotTarget, keys: ReadonlySet<number>): Promise<Edited> =>
      removeKeys(await withHash(), target, keys),

    /**
     * Ensures that the job is never merged into the slot, not even by a zombie owner. If it is already merged, that stands, an erasure is
     * completed, and its change is not marked as dropped.
     */
    async drop(target: SlotTarget): Promise<Edited> {
      const deps = await withHash();
      const edited = await editSlot(deps, target, async (edit) => edit.drop());
      await finishErasure(deps, target);
      return edited;
    },

    /** Number of distinct devices in a space. */
    async count(space: string): Promise<number> {
      const slots = Array.from({ length: await slotCount() }, (_, slot) => manifests.read({ space, slot }));
      return (await Promise.all(slots)).reduce((sum, { devices }) => sum + devices, 0);
    },

    /** The devices of a slot, in parts, in address order. */
    async *read(space: string, slot: number): AsyncGenerator<Devices> {
      const deps = await withHash();
      for await (const loaded of readSlot(deps, { space, slot })) yield devicesOf(loaded.levels, deps.hash);
    },

    /** The composition of one slot. */
    compose: async (request: CompositionRequest, slot: number, pause?: Pause): Promise<SlotComposition> =>
      composeSlot(await withHash(), request, slot, pause),

    /** Every space that holds the device, with its keys there. */
    async *find(device: Uint8Array): AsyncGenerator<{ space: string; keys: number[] }> {
      const located = await locate(device);
      const { slot, wanted } = located;
      for (const space of await findHolders(await withHash(), { slot }, wanted)) {
        const keys = await keysIn(space, located);
        if (keys) yield { space, keys };
      }
    },

    /** Those of the spaces, or of all, that may hold some of the devices, with few false positives. */
    holders: async (among: { slot: number; spaces?: string[] }, devices: Devices): Promise<string[]> =>
      findHolders(await withHash(), among, devices),

    /** Suppresses devices by digest (32 bytes each). */
    async listDigests(digests: Uint8Array, edit: DigestEdit): Promise<void> {
      await usedLists.use(spaces.digests);
      await listDigests(await withHash(), await slotCount(), digests, edit);
    },

    /** Removes digests from the list; entries added with a device only if one of these requests added them. */
    unlistDigests: async (
      digests: Uint8Array,
      edit: { number: number; requests: ReadonlySet<number> },
    ): Promise<void> => unlistDigests(await withHash(), await slotCount(), digests, edit),

    /** Finds all stored devices whose digests are wanted. */
    match: async (wanted: DigestTable, matching: Matching): Promise<void> =>
      matchDigests(await withHash(), wanted, matching),

    /** The spaces of the audiences, one per generation that has devices. */
    async spacesOf(audiences: number[]): Promise<string[]> {
      const prefixes = audiences.map(spaces.ofAudience);
      const found: string[] = [];
      for (const group of inGroups(prefixes, within({ count: RANGES_AT_ONCE }))) {
        const $or = group.map((prefix) => ({ _id: { $gte: prefix, $lt: `${prefix}~` } }));
        const ids = await manifests.collection.find({ $or }, { projection: { _id: 1 } }).toArray();
        found.push(...ids.map(({ _id }) => spaceOf(_id)));
      }
      return [...new Set(found)];
    },

    /**
     * Removes a space that will never be written again, in bounded steps. Its manifests go last, so that an interrupted removal is
     * repeated.
     */
    async removeSpace(space: string, signal?: AbortSignal): Promise<void> {
      const documents = { from: `${space}#`, to: `${space}#~` };
      await pages.removeAll(documents, signal);
      await manifests.collection.deleteMany({ _id: { $gte: documents.from, $lt: documents.to } });
    },

    sweepOrphans: createOrphanSweep(stored),
  };
}
