/**
 * Adds devices to sets: what is new of each addition is found against everything that its set holds in the slot, new chunks are
 * written, and then the manifests are replaced. Whatever happens before that last step leaves the sets as they were.
 */

import type { ChunkDocument } from '../../schemas/stage-documents.ts';
import { faultPoint } from '../runtime/fault-points.ts';
import { bytesOf } from './binary.ts';
import { type ChunkRequest, type Chunks, cutIntoChunks } from './chunks.ts';
import { type ChunkEntry, chunksToMerge, type Layout } from './layout.ts';
import type { Manifest, Manifests } from './manifests.ts';
import { union } from './packed-merge.ts';
import { DEVICE_BYTES, emptySet } from './packed-order.ts';
import { markMembers, overlapsRange, withoutMarked } from './packed-search.ts';
import { type Fence, requireOwnership } from './races.ts';

/** A sweep takes chunks that are older than this by far. */
const NAME_CHUNKS_WITHIN_MS = 5 * 60_000;

export interface Addition {
  set: string;
  slot: number;
  /** A packed set: ascending, distinct. */
  devices: Uint8Array;
}

/** `added`: devices that the set did not hold; `count`: what it holds in that slot now. */
export interface Added {
  added: number;
  count: number;
}

export interface AddDeps {
  manifests: Manifests;
  chunks: Chunks;
  layout: Layout;
}

interface Merging {
  manifest: Manifest;
  devices: Uint8Array;
  bits: Uint8Array;
  known: number;
  /** A chunk that the manifest names was gone. */
  raced: boolean;
}

/** Tries once to make these additions, each to another set or slot; undefined for each one that lost a race. */
export async function tryToAdd(
  deps: AddDeps,
  additions: Addition[],
  fence: Fence,
): Promise<(Added | undefined)[]> {
  const start = performance.now();
  const merging = await findNewDevices(deps, additions);
  const results: (Added | undefined)[] = additions.map(() => undefined);
  const changes: Change[] = [];
  const writer = createWriter(deps);
  if (merging.some(({ known, bits }) => known < bits.length)) await requireOwnership(fence);
  for (const [index, one] of merging.entries()) {
    if (one.raced) continue;
    const fresh = withoutMarked(one.devices, one.bits, one.known);
    if (fresh.byteLength === 0) results[index] = { added: 0, count: one.manifest.count };
    else {
      const change = await layOut(deps, one.manifest, fresh, writer);
      if (change) changes.push({ ...change, index, added: fresh.byteLength / DEVICE_BYTES });
    }
  }
  faultPoint('sink:before-chunks');
  await writer.flush();
  faultPoint('sink:after-chunks');
  // A process that was suspended must not name chunks that a sweep has taken for orphans meanwhile.
  const late = performance.now() - start > NAME_CHUNKS_WITHIN_MS;
  faultPoint('sink:before-manifest');
  const landed = late ? [] : await deps.manifests.replace(changes.map(({ next }) => next));
  faultPoint('sink:after-manifest');
  const unused: string[] = [];
  const lost: Change[] = [];
  for (const [i, change] of changes.entries()) {
    if (landed[i]) {
      results[change.index] = { added: change.added, count: change.next.count };
      unused.push(...change.replaced);
    } else lost.push(change);
  }
  await deps.chunks.remove(unused);
  await removeUnnamed(deps, lost);
  return results;
}

interface Change {
  index: number;
  added: number;
  next: Manifest;
  /** Chunks that `next` names and its predecessor did not, and the reverse. */
  written: string[];
  replaced: string[];
}

async function findNewDevices(deps: AddDeps, additions: Addition[]): Promise<Merging[]> {
  const manifests = await deps.manifests.read(additions);
  const merging = additions.map(({ devices }, i): Merging => {
    const bits = new Uint8Array(devices.byteLength / DEVICE_BYTES);
    const known = markMembers(devices, manifests[i]!.inline, bits);
    return { manifest: manifests[i]!, devices, bits, known, raced: false };
  });
  // One group may hold chunks of many sets: many small additions cost few round trips.
  for await (const group of deps.chunks.load(chunksThatMayHold(merging), true)) {
    for (const { devices, for: one } of group) {
      if (devices) one.known += markMembers(one.devices, devices, one.bits);
      else one.raced = true;
    }
  }
  return merging;
}

function* chunksThatMayHold(merging: Merging[]): Generator<ChunkRequest<Merging>> {
  for (const one of merging) {
    for (const entry of one.manifest.chunks) {
      if (overlapsRange(one.devices, bytesOf(entry.first), bytesOf(entry.last))) yield { entry, for: one };
    }
  }
}

/** Decides where new devices go and writes what chunks that takes; undefined if a chunk to merge with was gone. */
async function layOut(deps: AddDeps, manifest: Manifest, fresh: Uint8Array, writer: Writer) {
  const { chunks, layout } = deps;
  const count = manifest.count + fresh.byteLength / DEVICE_BYTES;
  const run = union([manifest.inline, fresh]);
  if (run.byteLength <= layout.inlineDevices * DEVICE_BYTES) {
    return { next: { ...manifest, count, inline: run }, written: [], replaced: [] };
  }
  const merged = chunksToMerge(manifest.chunks, run.byteLength / DEVICE_BYTES, layout);
  const parts = [run];
  for await (const group of chunks.load(
    merged.map((entry) => ({ entry, for: undefined })),
    true,
  )) {
    for (const { devices } of group) {
      if (!devices) return undefined;
      parts.push(devices);
    }
  }
  const { documents, entries } = cutIntoChunks(manifest, parts.length > 1 ? union(parts) : run, layout);
  await writer.write(documents);
  const kept: ChunkEntry[] = manifest.chunks.filter((entry) => !merged.includes(entry));
  return {
    next: { ...manifest, count, inline: emptySet, chunks: [...kept, ...entries] },
    written: entries.map(({ id }) => id),
    replaced: merged.map(({ id }) => id),
  };
}

/** Of lost races: our chunks, unless a manifest names them after all. */
async function removeUnnamed({ manifests, chunks }: AddDeps, lost: Change[]): Promise<void> {
  const written = lost.flatMap((change) => change.written);
  if (written.length === 0) return;
  const stored = await manifests.read(lost.map(({ next }) => next));
  const named = new Set(stored.flatMap((manifest) => manifest.chunks.map(({ id }) => id)));
  await chunks.remove(written.filter((id) => !named.has(id)));
}

type Writer = ReturnType<typeof createWriter>;

/** Collects the chunks of many small changes into one insert, and lets a large one through at once. */
function createWriter({ chunks }: AddDeps) {
  const bound = 4 << 20;
  let waiting: ChunkDocument[] = [];
  let bytes = 0;
  const flush = async () => {
    const documents = waiting;
    waiting = [];
    bytes = 0;
    await chunks.write(documents);
  };
  return {
    flush,
    async write(documents: ChunkDocument[]): Promise<void> {
      for (const document of documents) {
        waiting.push(document);
        bytes += document.devices.position;
      }
      if (bytes >= bound) await flush();
    },
  };
}
