/**
 * The pages that a look-up has read, kept for the erasure of the same devices, which would read them again. They are valid while the
 * manifest has the same version: pages change only after a version that records an erasure and before the one that completes it, and an
 * edit starts from a version without a pending erasure.
 */
import type { RegionEntry } from '../../schemas/stage-documents.ts';
import type { ReadRegion } from './read-regions.ts';

export type LookedPages = ReturnType<typeof createLookedPages>;

/** Further pages are read again. */
const MAX_BYTES = 8 << 20;

const regionId = (manifest: string, { start, from = '' }: RegionEntry) => `${manifest}:${start}:${from}`;

/** For one list of devices. */
export function createLookedPages(maxBytes = MAX_BYTES) {
  const kept = new Map<string, ReadRegion>();
  const counted = new WeakSet<Buffer>();
  let bytes = 0;
  return {
    add(manifest: string, read: ReadRegion): void {
      if (read.version === undefined || bytes > maxBytes) return;
      // A page keeps the whole reply in memory.
      for (const { pages } of read.levels)
        for (const { reply } of pages) {
          if (counted.has(reply)) continue;
          counted.add(reply);
          bytes += reply.length;
        }
      if (bytes <= maxBytes) kept.set(regionId(manifest, read.region), read);
    },
    /** Undefined: not kept, or no longer valid. */
    take({ _id, version }: { _id: string; version: number }, region: RegionEntry): ReadRegion | undefined {
      const id = regionId(_id, region);
      const read = kept.get(id);
      kept.delete(id);
      return read?.version === version ? read : undefined;
    },
  };
}
