/**
 * Finds the devices that a list of digests means: one pass over everything stored, in bounded memory. What was merged before the pass
 * started is found, whoever writes meanwhile; so whoever wants no later devices keeps them out first.
 */
import { DIGEST_BYTES, digestsOf } from '../formats/device-digest.ts';
import { type DigestTable, digestWords } from '../formats/digest-table.ts';
import { IDENTIFIER_BYTES } from '../formats/identifier.ts';
import { inParallel } from '../runtime/in-parallel.ts';
import { type LoadedRegion, type ReadDeps, readSlot } from './read-regions.ts';

/** Slots that are read at a time: most are small, and then their manifests and pages are read together. */
const SLOTS_AT_ONCE = 8;
const MANIFESTS_AT_ONCE = 1_000;
/** The marketplace and audiences: other spaces hold digests. */
const DEVICES = /^(m$|a)/;
/** Devices that are digested at a time: their digests stay in the cache. */
const DIGESTED = 4_096;

export interface Matching {
  /** A wanted device, as often as it is stored. `device` is valid during the call only. */
  onMatch(device: Uint8Array, wanted: number): void;
  /** After each part: what was matched can be used, and the pass goes on afterwards. */
  onPart?(read: number, of: number): Promise<void> | void;
}

/** The devices of the pages, digested in groups. */
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
        const some = Math.min(bytes.length - from, (DIGESTED - held) * IDENTIFIER_BYTES);
        devices.set(bytes.subarray(from, from + some), held * IDENTIFIER_BYTES);
        held += some / IDENTIFIER_BYTES;
        from += some;
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
    // Everything of the part is matched before anyone uses it.
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
