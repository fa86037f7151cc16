/**
 * Suppression lists: digests of devices that must not be stored. Like devices, they are in slots of spaces, each with the number of the
 * request that added it. Only the first 16 bytes of a digest are stored: with 100 million entries and a billion devices, a collision has a
 * chance of 1 in 10^21. A device is looked up in the list of all partners and in its partner's, in the slot of the device, and in the list
 * of digests without devices, in the slot of the digest. A Bloom filter in memory avoids nearly all reads.
 */

import { spaces } from '../../schemas/documents.ts';
import { digestsOf } from '../formats/device-digest.ts';
import { DigestFilter } from '../formats/digest-filter.ts';
import { IDENTIFIER_BYTES, slotOfHash, WORDS } from '../formats/identifier.ts';
import { inParallel } from '../runtime/in-parallel.ts';
import { createOneAtATime } from '../runtime/one-at-a-time.ts';
import { type Devices, firstKey } from './devices.ts';
import { joinRegion } from './join.ts';
import type { Manifest } from './manifests.ts';
import { wordsOf } from './page-format.ts';
import { waitAfterLoss } from './races.ts';
import { type ReadDeps, readSlot } from './read-regions.ts';
import { pagesOf } from './regions.ts';
import { Pairs, sortPairs } from './sort-pairs.ts';
import type { UsedLists } from './used-lists.ts';

/** The first 16 bytes of each digest, concatenated. */
export function shortDigestsOf({ words }: Pick<Devices, 'words'>): Uint8Array {
  const digests = digestsOf(new Uint8Array(words.buffer, words.byteOffset, words.byteLength));
  return cutDigests(digests);
}

export function cutDigests(digests: Uint8Array): Uint8Array {
  const words = wordsOf(digests);
  const short = new Uint32Array(words.length / 2);
  for (let from = 0, to = 0; to < short.length; from += 2 * WORDS, to += WORDS) {
    short[to] = words[from]!;
    short[to + 1] = words[from + 1]!;
    short[to + 2] = words[from + 2]!;
    short[to + 3] = words[from + 3]!;
  }
  return new Uint8Array(short.buffer);
}

/** Slots of lists, each with a few pages. */
const READS_AT_ONCE = 32;

interface KnownList {
  filter: DigestFilter;
  /** Levels included in the filter. */
  tokens: Set<string>;
}

export function createSuppressions(
  usedLists: Pick<UsedLists, 'of'>,
  depsOf: () => Promise<ReadDeps>,
  slotCount: () => Promise<number>,
  /** Called with devices that were suppressed by digest only. */
  onArrival: (digests: Uint8Array[]) => Promise<void> = async () => {},
) {
  const known = new Map<string, KnownList>();
  const oneAtATime = createOneAtATime();

  /** A filter with at least the entries of the manifest that was read. */
  const filterOf = (deps: ReadDeps, read: Manifest): Promise<DigestFilter> =>
    oneAtATime(read._id, async () => {
      let manifest = read;
      for (let attempt = 1; ; attempt++) {
        let list = known.get(manifest._id);
        if (!list || list.filter.capacity < manifest.devices) {
          list = { filter: new DigestFilter(manifest.devices), tokens: new Set() };
          known.set(manifest._id, list);
        }
        if (await addNew(deps, manifest, list)) return list.filter;
        await waitAfterLoss(attempt, manifest._id);
        manifest = await deps.manifests.read(manifest);
      }
    });

  /** False if a level was replaced meanwhile. */
  async function addNew(deps: ReadDeps, manifest: Manifest, { filter, tokens }: KnownList): Promise<boolean> {
    const named = new Set<string>();
    for (const region of manifest.regions)
      for (const level of region.levels) {
        named.add(level.token);
        if (tokens.has(level.token)) continue;
        const pages = await deps.pages.readRange(pagesOf(manifest._id, level, region));
        if (pages.length !== level.pages) return false;
        for (const { reply, devices, devicesEnd } of pages) {
          const words = wordsOf(reply.subarray(devices, devicesEnd));
          for (let at = 0; at < words.length; at += WORDS) filter.add(words, at);
        }
        tokens.add(level.token);
      }
    for (const token of tokens) if (!named.has(token)) tokens.delete(token);
    return true;
  }

  /** Sets the flags of devices in the list. */
  async function flag(
    deps: ReadDeps,
    manifest: Manifest,
    digests: Uint8Array,
    numbers: number[],
    flags: Uint8Array,
  ): Promise<void> {
    const pairs = new Pairs();
    // The device's number, from 1, stands in for a key.
    for (const n of numbers) pairs.add(digests, n * IDENTIFIER_BYTES, 1, n + 1, 0);
    const wanted = sortPairs(pairs, deps.hash).devices;
    const { space, slot } = manifest;
    const found: number[] = [];
    for await (const loaded of readSlot(deps, { space, slot }, wanted, { from: Promise.resolve(manifest) })) {
      const part = loaded.wanted!;
      const onDevice = (n: number) => {
        for (let at = firstKey(part, n); at < part.ends[n]!; at++) found.push(part.keys[at]! - 1);
      };
      joinRegion(loaded, { onDevice }, deps.hash);
    }
    for (const n of found) flags[n] = 1;
    if (space !== spaces.digests || found.length === 0) return;
    await onArrival(found.map((n) => digests.subarray(n * IDENTIFIER_BYTES, (n + 1) * IDENTIFIER_BYTES)));
  }

  /**
   * Flags the suppressed devices of a slot, all of one partner, with 1. Undefined: none. A merge calls it after reading the manifest that
   * it changes.
   */
  return async (
    partner: string,
    slot: number,
    devices: Devices,
    listsOf = usedLists.of,
  ): Promise<Uint8Array | undefined> => {
    if (devices.count === 0) return undefined;
    const inUse = await listsOf(partner);
    if (inUse.length === 0) return undefined;
    const deps = await depsOf();
    const slots = await slotCount();
    const lists = inUse.flatMap((space) =>
      space === spaces.digests
        ? Array.from({ length: slots }, (_, n) => ({ space, slot: n }))
        : [{ space, slot }],
    );
    const manifests = await Promise.all(lists.map((list) => deps.manifests.read(list)));
    const used = manifests.filter(({ devices: count }) => count > 0);
    if (used.length === 0) return undefined;
    const filters: DigestFilter[] = [];
    for (const manifest of used) filters.push(await filterOf(deps, manifest));
    const digests = shortDigestsOf(devices);
    const words = wordsOf(digests);
    const found = used.map((): number[] => []);
    const look = (list: number, at: number) => {
      if (filters[list]!.mayHave(words, at)) found[list]!.push(at / WORDS);
    };
    for (const [list, { space }] of used.entries())
      if (space !== spaces.digests) for (let at = 0; at < words.length; at += WORDS) look(list, at);
    // A digest is in one slot of the list of digests, so only that slot's filter is needed.
    const bySlot = Array.from({ length: slots }, (_, of) =>
      used.findIndex((manifest) => manifest.space === spaces.digests && manifest.slot === of),
    );
    if (inUse.includes(spaces.digests))
      for (let at = 0; at < words.length; at += WORDS) {
        const list = bySlot[slotOfHash(deps.hash(words, at), slots)]!;
        if (list >= 0) look(list, at);
      }
    const flags = new Uint8Array(devices.count);
    // Together: the merge waits, and reads of several slots share round trips.
    await inParallel(found, READS_AT_ONCE, async (numbers, list) => {
      if (numbers.length > 0) await flag(deps, used[list]!, digests, numbers, flags);
    });
    return flags.includes(1) ? flags : undefined;
  };
}
