/** Chunk documents: written once, read in groups of bounded size, removed when no manifest names them. */
import { Binary, type Collection, type Db, ObjectId } from 'mongodb';
import { collections } from '../../schemas/documents.ts';
import type { ChunkDocument } from '../../schemas/stage-documents.ts';
import { inGroups, inGroupsAsync, within } from '../runtime/in-groups.ts';
import { bytesOf } from './binary.ts';
import type { ChunkCache } from './chunk-cache.ts';
import { type ChunkEntry, devicesPerChunk, type Layout } from './layout.ts';
import type { Manifest } from './manifests.ts';
import { DEVICE_BYTES } from './packed-order.ts';

/** Far enough below the server's 16 MB for one reply that a group is one round trip. */
const GROUP_BYTES = 4 << 20;
/** The driver copies what it inserts about three times. */
const INSERT_BYTES = 4 << 20;
const REMOVE_AT_ONCE = 5_000;

export interface ChunkRequest<T> {
  entry: ChunkEntry;
  for: T;
}

export interface LoadedChunk<T> extends ChunkRequest<T> {
  /** Undefined: the chunk is gone, so the manifest that named it has been replaced. */
  devices: Uint8Array | undefined;
}

export type Chunks = ReturnType<typeof createChunks>;

export function chunkCollection(db: Db): Collection<ChunkDocument> {
  return db.collection<ChunkDocument>(collections.chunks, {
    readConcern: 'majority',
    readPreference: 'primary',
    promoteBuffers: false,
  });
}

/** Cuts a run into chunk documents and their entries in the manifest. */
export function cutIntoChunks(manifest: Manifest, run: Uint8Array, layout: Layout) {
  const step = devicesPerChunk(run.byteLength / DEVICE_BYTES, layout) * DEVICE_BYTES;
  const documents: ChunkDocument[] = [];
  const entries: ChunkEntry[] = [];
  for (let start = 0; start < run.byteLength; start += step) {
    const devices = run.subarray(start, start + step);
    const id = `${manifest.id}@${new ObjectId().toHexString()}`;
    documents.push({ _id: id, set: manifest.set, slot: manifest.slot, devices: new Binary(devices) });
    entries.push({
      id,
      first: new Binary(devices.slice(0, DEVICE_BYTES)),
      last: new Binary(devices.slice(-DEVICE_BYTES)),
      count: devices.byteLength / DEVICE_BYTES,
    });
  }
  return { documents, entries };
}

export function createChunks(db: Db, cache: ChunkCache) {
  const collection = chunkCollection(db);

  /** In the order asked for. `remember` is for chunks that will be wanted again; a scan would only push those out. */
  async function* load<T>(
    requests: Iterable<ChunkRequest<T>> | AsyncIterable<ChunkRequest<T>>,
    remember: boolean,
  ): AsyncGenerator<LoadedChunk<T>[]> {
    const byBytes = within<ChunkRequest<T>>(
      { bytes: GROUP_BYTES },
      ({ entry }) => entry.count * DEVICE_BYTES,
    );
    let ahead: Promise<LoadedChunk<T>[]> | undefined;
    // The next group is on its way while the caller works on this one.
    for await (const group of inGroupsAsync(requests, byBytes)) {
      const next = loadGroup(group, remember);
      next.catch(() => {});
      if (ahead) yield await ahead;
      ahead = next;
    }
    if (ahead) yield await ahead;
  }

  async function loadGroup<T>(group: ChunkRequest<T>[], remember: boolean): Promise<LoadedChunk<T>[]> {
    const found = new Map<string, Uint8Array>();
    const absent: string[] = [];
    for (const { entry } of group) {
      const devices = cache.get(entry.id);
      if (devices) found.set(entry.id, devices);
      else absent.push(entry.id);
    }
    if (absent.length > 0) {
      const cursor = collection.find(
        { _id: { $in: absent } },
        { projection: { devices: 1 }, batchSize: absent.length + 1 },
      );
      for await (const { _id, devices } of cursor) {
        found.set(_id, bytesOf(devices));
        if (remember) cache.put(_id, bytesOf(devices));
      }
    }
    return group.map((request) => ({ ...request, devices: found.get(request.entry.id) }));
  }

  return {
    load,

    async write(documents: ChunkDocument[]): Promise<void> {
      for (const batch of inGroups(
        documents,
        within({ bytes: INSERT_BYTES }, ({ devices }) => devices.position),
      )) {
        await collection.insertMany(batch, { ordered: false });
        for (const { _id, devices } of batch) cache.put(_id, bytesOf(devices));
      }
    },

    /** Best effort: what stays behind is an orphan, and swept. */
    async remove(ids: string[]): Promise<void> {
      for (const id of ids) cache.forget(id);
      for (const some of inGroups(ids, within({ count: REMOVE_AT_ONCE })))
        await collection.deleteMany({ _id: { $in: some } }).catch(() => {});
    },
  };
}
