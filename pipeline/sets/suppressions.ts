/**
 * Suppression lists: digests of devices that must not be stored. Like devices, they are in slots of spaces, each with the number of the
 * request that added it. Only the first 16 bytes of a digest are stored: with 100 million entries and a billion devices, a collision has a
 * chance of 1 in 10^21. A device is looked up in the list of all partners and in its partner's, in the slot of the device, and in the list
 * of digests without devices, in the slot of the digest. A Bloom filter in memory avoids nearly all reads.
 */

import { spaces } from '../../schemas/documents.ts';
import { DIGEST_WORDS, eachDigests } from '../formats/device-digest.ts';
import { DigestFilter } from '../formats/digest-filter.ts';
import { IDENTIFIER_BYTES, slotOfHash, WORDS } from '../formats/identifier.ts';
import { inParallel } from '../runtime/in-parallel.ts';
import { createOneAtATime } from '../runtime/one-at-a-time.ts';
import { asBytes, type Devices, firstKey } from './devices.ts';
import { joinRegion } from './join.ts';
import type { Manifest } from './manifests.ts';
import { wordsOf } from './page-format.ts';
import { waitAfterLoss } from './races.ts';
import { type ReadDeps, readSlot } from './read-regions.ts';
import { pagesOf } from './regions.ts';
import { Pairs, sortPairs } from './sort-pairs.ts';
import type { UsedLists } from './used-lists.ts';

/** The first 16 bytes of each device's digest, concatenated. */
export function shortDigestsOf({ words, count }: Pick<Devices, 'words' | 'count'>): Uint8Array {
  const short = new Uint32Array(count * WORDS);
  eachDigests(asBytes(words), (digests, chunk, first) => {
    for (let n = 0; n < chunk; n++) copyShort(digests, n * DIGEST_WORDS, short, (first + n) * WORDS);
  });
  return asBytes(short);
}

/** The first 16 bytes of each digest, concatenated. */
export function cutDigests(digests: Uint8Array): Uint8Array {
  const words = wordsOf(digests);
  const short = new Uint32Array(words.length / 2);
  for (let to = 0; to < short.length; to += WORDS) copyShort(words, 2 * to, short, to);
  return asBytes(short);
}

function copyShort(from: Uint32Array, at: number, into: Uint32Array, to: number): void {
  for (let word = 0; word < WORDS; word++) into[to + word] = from[at + word]!;
}

/** Slots of lists, each with a few pages. */
const READS_AT_ONCE = 32;

/** All of a list that may have the devices of a slot, as read. */
type List = readonly [Manifest, ...Manifest[]];

interface Known {
  filter: DigestFilter;
  /** Tokens of the levels in the filter, by manifest. */
  levels: Map<string, Set<string>>;
}

/** Devices that may be in a list, with their digests. */
interface Possible {
  numbers: number[];
  digests: number[];
}

export function createSuppressions(
  usedLists: Pick<UsedLists, 'of'>,
  depsOf: () => Promise<ReadDeps>,
  slotCount: () => Promise<number>,
  /** Called with devices that were suppressed by digest only. */
  onLateMatch: (digests: Uint8Array[]) => Promise<void> = async () => {},
) {
  const known = new Map<string, Known>();
  const oneAtATime = createOneAtATime();

  /** A filter with at least the entries of the list as read. */
  const filterOf = (deps: ReadDeps, list: List): Promise<DigestFilter> =>
    oneAtATime(list[0]._id, async () => {
      const entries = list.reduce((sum, { devices }) => sum + devices, 0);
      let found = known.get(list[0]._id);
      if (!found || found.filter.capacity < entries) {
        found = { filter: new DigestFilter(entries), levels: new Map() };
        known.set(list[0]._id, found);
      }
      for (const read of list)
        for (let manifest = read, attempt = 1; !(await addNew(deps, manifest, found)); attempt++) {
          await waitAfterLoss(attempt, manifest._id);
          manifest = await deps.manifests.read(manifest);
        }
      return found.filter;
    });

  /** False if a level was replaced meanwhile. */
  async function addNew(deps: ReadDeps, manifest: Manifest, { filter, levels }: Known): Promise<boolean> {
    const added = levels.get(manifest._id) ?? new Set();
    levels.set(manifest._id, added);
    const named = new Set<string>();
    for (const region of manifest.regions)
      for (const level of region.levels) {
        named.add(level.token);
        if (added.has(level.token)) continue;
        const pages = await deps.pages.readRange(pagesOf(manifest._id, level, region));
        if (pages.length !== level.pages) return false;
        for (const { reply, devices, devicesEnd } of pages) {
          const words = wordsOf(reply.subarray(devices, devicesEnd));
          for (let at = 0; at < words.length; at += WORDS) filter.add(words, at);
        }
        added.add(level.token);
      }
    levels.set(manifest._id, named);
    return true;
  }

  /** Sets the flags of devices that are in a slot of a list. */
  async function flag(
    deps: ReadDeps,
    manifest: Manifest,
    { numbers, digests }: Possible,
    flags: Uint8Array,
  ): Promise<void> {
    const bytes = asBytes(Uint32Array.from(digests));
    const digestAt = (place: number) =>
      bytes.subarray(place * IDENTIFIER_BYTES, (place + 1) * IDENTIFIER_BYTES);
    const pairs = new Pairs();
    // The place stands in for a key, from 1.
    for (const place of numbers.keys()) pairs.add(bytes, place * IDENTIFIER_BYTES, 1, place + 1, 0);
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
    for (const place of found) flags[numbers[place]!] = 1;
    if (space === spaces.digests && found.length > 0) await onLateMatch(found.map(digestAt));
  }

  /** In the order of the filters. */
  function possibleIn(filters: readonly DigestFilter[], { words }: Devices): Possible[] {
    const possible = filters.map((): Possible => ({ numbers: [], digests: [] }));
    eachDigests(asBytes(words), (chunk, count, first) => {
      for (const [list, filter] of filters.entries()) {
        const { numbers, digests } = possible[list]!;
        filter.eachPossible(chunk, count, DIGEST_WORDS, (at) => {
          numbers.push(first + at / DIGEST_WORDS);
          digests.push(...chunk.subarray(at, at + WORDS));
        });
      }
    });
    return possible;
  }

  /** By the index in the list: a digest of the list without devices is in the slot of the digest. */
  function bySlot({ hash }: ReadDeps, list: List, { numbers, digests }: Possible): Map<number, Possible> {
    const words = Uint32Array.from(digests);
    const found = new Map<number, Possible>();
    for (const [place, number] of numbers.entries()) {
      const at = place * WORDS;
      const index = list.length === 1 ? 0 : slotOfHash(hash(words, at), list.length);
      const here = found.get(index) ?? { numbers: [], digests: [] };
      found.set(index, here);
      here.numbers.push(number);
      here.digests.push(...words.subarray(at, at + WORDS));
    }
    return found;
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
    const slots = Array.from({ length: await slotCount() }, (_, n) => n);
    const read = (space: string) =>
      Promise.all(
        (space === spaces.digests ? slots : [slot]).map((slot) => deps.manifests.read({ space, slot })),
      );
    const lists = (await Promise.all(inUse.map(read))) as unknown as List[];
    const used = lists.filter((list) => list.some(({ devices: entries }) => entries > 0));
    const filters: DigestFilter[] = [];
    for (const list of used) filters.push(await filterOf(deps, list));
    const lookUps = possibleIn(filters, devices).flatMap((possible, n) =>
      [...bySlot(deps, used[n]!, possible)].map(([index, here]) => ({ manifest: used[n]![index]!, here })),
    );
    const flags = new Uint8Array(devices.count);
    // Together: the merge waits, and reads of several slots share round trips.
    await inParallel(lookUps, READS_AT_ONCE, ({ manifest, here }) => flag(deps, manifest, here, flags));
    return flags.includes(1) ? flags : undefined;
  };
}
