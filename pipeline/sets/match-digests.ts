/**
 * Finds the stored devices of a list of digests in one pass over all spaces, in bounded memory. Finds everything merged before the pass
 * started, despite concurrent writes; to exclude later devices, suppress them first.
 */
import { DIGEST_BYTES, digestsOf } from '../formats/device-digest.ts';
import { type DigestTable, digestWords } from '../formats/digest-table.ts';
import { IDENTIFIER_BYTES } from '../formats/identifier.ts';
import { inParallel } from '../runtime/in-parallel.ts';
import { type LoadedRegion, type ReadDeps, readSlot } from './read-regions.ts';

/** Slots read concurrently: most are small, so their manifests and pages share round trips. */
const SLOTS_AT_ONCE = 8;
const MANIFESTS_AT_ONCE = 1_000;
/** The marketplace and audiences: other spaces hold digests. */
const DEVICES = /^(m$|a)/;
/** Devices hashed at a time, so that their digests stay in the CPU cache. */
const DIGESTED = 4_096;

export interface Matching {
  /** Called for each occurrence of a wanted device. `device` is valid only during the call. */
  onMatch(device: Uint8Array, wanted: number): void;
  /** Called after each part: its matches are complete, and the pass waits. */
  onPart?(read: number, of: number): Promise<void> | void;
}

/** Hashes the devices of pages in groups. */
function createMatcher(wanted: DigestTable, onMatch: Matching['onMatch']) {
  const digests = new Uint8Array(DIGESTED * DIGEST_BYTES);
  const words = digestWords(digests);
  const devices = new Uint8Array(DIGESTED * IDENTIFIER_BYTES);
  let held = 0;
  function flush(): void {
    digestsOf(devices.subarray(0, held * IDENTIFIER_BYTES), digests);
    for (let n = 0; n < held; n++) {
      const found = wanted.find(words, n);
      if (found >= 0) onMatch(devices.subarray(n * IDENTIFIER_BYTES, (n + 1) * IDENTIFIER_BYTES), found);
    }
    held = 0;
  }
  return {
    flush,
    add(bytes: Uint8Array): void {
      for (let from = 0; from < bytes.length; ) {
        const length = Math.min(bytes.length - from, (DIGESTED - held) * IDENTIFIER_BYTES);
        devices.set(bytes.subarray(from, from + length), held * IDENTIFIER_BYTES);
        held += length / IDENTIFIER_BYTES;
        from += length;
        if (held === DIGESTED) flush();
      }
    },
  };
}

export async function matchDigests(
  deps: ReadDeps,
  wanted: DigestTable,
  { onMatch, onPart }: Matching,
): Promise<void> {
  const { collection } = deps.manifests;
  const [total = { devices: 0 }] = await collection
    .aggregate<{ devices: number }>([
      { $match: { space: { $regex: DEVICES } } },
      { $group: { _id: null, devices: { $sum: '$devices' } } },
    ])
    .toArray();
  const matcher = createMatcher(wanted, onMatch);
  let read = 0;
  const readRegion = async ({ levels }: LoadedRegion) => {
    for (const { pages } of levels)
      for (const { reply, devices, devicesEnd } of pages) {
        matcher.add(reply.subarray(devices, devicesEnd));
        read += (devicesEnd - devices) / IDENTIFIER_BYTES;
      }
    // Match the rest of the part before reporting it.
    matcher.flush();
    await onPart?.(read, total.devices);
  };
  for (let after = ''; ; ) {
    const slots = await collection
      .find({ _id: { $gt: after }, space: { $regex: DEVICES } }, { projection: { space: 1, slot: 1 } })
      .sort({ _id: 1 })
      .limit(MANIFESTS_AT_ONCE)
      .toArray();
    if (slots.length === 0) return;
    await inParallel(slots, SLOTS_AT_ONCE, async ({ space, slot }) => {
      for await (const region of readSlot(deps, { space, slot })) await readRegion(region);
    });
    after = slots.at(-1)!._id;
  }
}
