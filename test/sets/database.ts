/** A database per test file, and the invariants of the sets in it. */
import { Binary, type Db, MongoClient } from 'mongodb';
import { afterAll, beforeAll, expect } from 'vitest';
import { createManifests } from '../../pipeline/sets/manifests.ts';
import { wordsOf } from '../../pipeline/sets/page-format.ts';
import { createPages } from '../../pipeline/sets/pages.ts';
import { devicesOf, loadRegion } from '../../pipeline/sets/read-regions.ts';
import { endOf, pageId, pageOf, rangeIn } from '../../pipeline/sets/regions.ts';
import { collections, type PlacementDocument } from '../../schemas/documents.ts';
import type { ManifestDocument, PageDocument } from '../../schemas/stage-documents.ts';
import type { Settings } from '../support/settings.ts';
import { uniqueEnvironment } from '../support/stack.ts';
import { testKey, testPlacement } from './devices.ts';

export function openDatabase(): { readonly db: Db; readonly env: Settings } {
  let client: MongoClient;
  let env: Settings;
  let db: Db;
  beforeAll(async () => {
    env = uniqueEnvironment();
    client = new MongoClient(env.HEADRACE_MONGO_URL!, {
      writeConcern: { w: 'majority', journal: true },
      monitorCommands: true,
    });
    db = client.db(env.HEADRACE_MONGO_DATABASE!);
    await storeTestKey(db);
  });
  afterAll(async () => {
    await db.dropDatabase();
    await client.close();
  });
  return {
    get db() {
      return db;
    },
    get env() {
      return env;
    },
  };
}

const storeTestKey = (db: Db) =>
  db
    .collection<PlacementDocument>(collections.placement)
    .insertOne({ _id: 'key', key: new Binary(testKey), createdAt: new Date() });

/** Drops everything but the placement key of the tests. */
export async function emptyDatabase(db: Db): Promise<void> {
  await db.dropDatabase();
  await storeTestKey(db);
}

export const manifestsOf = (db: Db) => db.collection<ManifestDocument>(collections.manifests);
export const pagesOf = (db: Db) => db.collection<PageDocument>(collections.pages);

const byNumber = (a: number, b: number) => a - b;

/**
 * Asserts that every manifest matches the contents of its regions, that it lists their addresses if any, and that the regions cover the
 * slot. Returns unreferenced pages; pages that the last change replaced stay referenced until they are removed.
 */
export async function checkEveryManifest(db: Db, { id, hash } = testPlacement): Promise<string[]> {
  const manifests = createManifests(db, async () => ({ id, hash }));
  const deps = { manifests, pages: createPages(db), hash };
  const unnamed = new Set(
    (await pagesOf(db).find().project({ _id: 1 }).toArray()).map(({ _id }) => _id as string),
  );
  for (const manifest of await manifestsOf(db).find().toArray()) {
    let end = 0;
    let from: string | undefined;
    let devices = 0;
    const addresses: number[] = [];
    for (const region of manifest.regions) {
      expect([region.start, region.from]).toEqual([end, from]);
      if (region.to === undefined) end = endOf(region);
      from = region.to;
      const { levels } = await loadRegion(deps, manifest, region);
      const own = devicesOf(levels, hash);
      expect(rangeIn(own, region)).toEqual([0, own.count]);
      devices += own.count;
      addresses.push(...own.addresses);
      for (const { level, pages } of levels) {
        for (const page of pages) {
          expect(pageOf(level, page.start)).toBe(page.start);
          unnamed.delete(pageId(page.level, page.start));
        }
      }
    }
    for (const { from, to } of manifest.replaced)
      for (const id of unnamed) if (id >= from && id <= to) unnamed.delete(id);
    expect(end).toBe(2 ** 28);
    expect(devices).toBe(manifest.devices);
    if (manifest.addresses)
      expect([...wordsOf(manifest.addresses.value())].sort(byNumber)).toEqual(addresses);
  }
  return [...unnamed];
}

/** Blocks callers of `wait` until `open` is called. */
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

/**
 * The same database, but a bulk write to manifests, or to another collection, waits for `before` first and for `after` afterwards.
 * Pages are written before manifests.
 */
export const aroundManifests = (
  db: Db,
  {
    before = async () => {},
    after = async () => {},
  }: Partial<Record<'before' | 'after', () => Promise<void>>>,
  name: string = collections.manifests,
): Db =>
  new Proxy(db, {
    get(target, member, receiver) {
      if (member !== 'collection') return Reflect.get(target, member, receiver);
      return (...wanted: Parameters<Db['collection']>) => {
        const collection = target.collection(...wanted);
        if (wanted[0] !== name) return collection;
        const write = collection.bulkWrite.bind(collection);
        return Object.assign(collection, {
          async bulkWrite(...operations: Parameters<typeof write>) {
            await before();
            const result = await write(...operations);
            await after();
            return result;
          },
        });
      };
    },
  });
