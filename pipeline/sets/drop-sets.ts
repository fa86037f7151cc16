/** Emptying sets, and removing those that will never be written again. */
import type { Db } from 'mongodb';
import { type Chunks, chunkCollection } from './chunks.ts';
import { type Manifests, manifestCollection } from './manifests.ts';
import { emptySet } from './packed-order.ts';
import { type Fence, requireOwnership } from './races.ts';

/** How many devices a drop took from a set in its slot. */
export interface Dropped {
  set: string;
  removed: number;
}

/**
 * Tries once to empty these sets in a slot; undefined for each that lost a race. The manifest stays, with a higher version, also
 * where there was none: the write of an owner that read before the drop then fails, be it a replacement or an insert.
 */
export async function tryToDrop(
  { manifests, chunks }: { manifests: Manifests; chunks: Chunks },
  sets: string[],
  slot: number,
  fence: Fence,
): Promise<(Dropped | undefined)[]> {
  const before = await manifests.read(sets.map((set) => ({ set, slot })));
  await requireOwnership(fence);
  const landed = await manifests.replace(
    before.map((manifest) => ({ ...manifest, count: 0, inline: emptySet, chunks: [] })),
  );
  const emptied = before.filter((_, i) => landed[i]);
  await chunks.remove(emptied.flatMap((manifest) => manifest.chunks.map(({ id }) => id)));
  return before.map(({ set, count }, i) => (landed[i] ? { set, removed: count } : undefined));
}

/**
 * Removes a set and every set below it (`<set>:…`, an audience's events) in all slots, without a trace. What follows the name must
 * be a colon or the slot's mark, so `audience:7:g10` stays when `audience:7:g1` goes.
 */
export async function removeSetsForGood(db: Db, set: string): Promise<void> {
  const below = between(`${set}:`);
  await manifestCollection(db).deleteMany({ $or: [{ set }, { set: below }] });
  await chunkCollection(db).deleteMany({ $or: [{ _id: between(`${set}#`) }, { _id: below }] });
}

/** All strings that begin with a prefix whose last character is ASCII. */
export function between(prefix: string): { $gte: string; $lt: string } {
  const last = prefix.charCodeAt(prefix.length - 1);
  return { $gte: prefix, $lt: prefix.slice(0, -1) + String.fromCharCode(last + 1) };
}
