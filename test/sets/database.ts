/** A database of its own for a test file, and what must always be true of the sets in it. */
import { type Db, MongoClient } from 'mongodb';
import { afterAll, beforeAll, expect } from 'vitest';
import { isPackedSet, union } from '../../pipeline/sets/packed.ts';
import { collections } from '../../schemas/documents.ts';
import type { ChunkDocument, ManifestDocument } from '../../schemas/stage-documents.ts';
import { uniqueEnvironment } from '../support/stack.ts';
import { toHex } from './devices.ts';

export function openDatabase(): { readonly db: Db } {
  let client: MongoClient;
  let db: Db;
  beforeAll(async () => {
    const env = uniqueEnvironment();
    client = new MongoClient(env.HEADRACE_MONGO_URL!, { writeConcern: { w: 'majority', journal: true } });
    db = client.db(env.HEADRACE_MONGO_DATABASE!);
  });
  afterAll(async () => {
    await db.dropDatabase();
    await client.close();
  });
  return {
    get db() {
      return db;
    },
  };
}

export const manifestsOf = (db: Db) => db.collection<ManifestDocument>(collections.manifests);
export const chunksOf = (db: Db) => db.collection<ChunkDocument>(collections.chunks);

/** Asserts that every manifest says exactly what its parts hold, and that no device is in two parts. Returns unnamed chunks. */
export async function checkEveryManifest(db: Db): Promise<string[]> {
  const stored = new Map((await chunksOf(db).find().toArray()).map((chunk) => [chunk._id, chunk]));
  const orphans = new Set(stored.keys());
  for (const manifest of await manifestsOf(db).find().toArray()) {
    const inline = manifest.inline.buffer;
    const parts = [inline];
    for (const { id, first, last, count } of manifest.chunks) {
      const chunk = stored.get(id);
      expect(chunk, `chunk ${id}`).toMatchObject({ set: manifest.set, slot: manifest.slot });
      const devices = chunk!.devices.buffer;
      const hex = toHex(devices);
      expect([hex.length, hex[0], hex.at(-1)]).toEqual([
        count,
        toHex(first.buffer)[0],
        toHex(last.buffer)[0],
      ]);
      parts.push(devices);
      orphans.delete(id);
    }
    expect(parts.every(isPackedSet)).toBe(true);
    expect(parts.reduce((sum, part) => sum + part.byteLength / 16, 0)).toBe(manifest.count);
    expect(union(parts).byteLength / 16).toBe(manifest.count);
  }
  return [...orphans];
}

/** Holds up whoever calls `wait` until `open` is called. */
export function createGate() {
  let open = () => {};
  let arrived = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const reached = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const wait = async () => {
    arrived();
    await opened;
  };
  return { open: () => open(), reached, wait };
}

/** The same database, but whoever writes manifests waits for `before` first. Chunks are written by then. */
export const beforeManifests = (db: Db, before: () => Promise<void>): Db =>
  new Proxy(db, {
    get(target, member, receiver) {
      if (member !== 'collection') return Reflect.get(target, member, receiver);
      return (...wanted: Parameters<Db['collection']>) => {
        const collection = target.collection(...wanted);
        if (wanted[0] !== collections.manifests) return collection;
        const write = collection.bulkWrite.bind(collection);
        return Object.assign(collection, {
          async bulkWrite(...operations: Parameters<typeof write>) {
            await before();
            return write(...operations);
          },
        });
      };
    },
  });
