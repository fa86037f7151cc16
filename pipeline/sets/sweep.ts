/**
 * Removes orphans: chunks that no manifest names. They are left by a process that ended between writing chunks and replacing
 * the manifest, or between that and removing what it replaced.
 *
 * A chunk that is being added is not named yet either, so only old ones are taken; a chunk's age is in its identifier. The
 * chunks are listed before the manifests are read: an old chunk that is not named then never will be.
 */
import { type Db, ObjectId } from 'mongodb';
import { type Chunks, chunkCollection } from './chunks.ts';
import { manifestCollection } from './manifests.ts';

const PAGE = 2_000;

export interface SweepOptions {
  /** Well above the five minutes that an addition has for naming its chunks, and what clocks of two machines may differ by. */
  olderThanMs: number;
  now?: () => number;
}

export async function sweepOrphanChunks(db: Db, chunks: Chunks, options: SweepOptions): Promise<number> {
  const before = (options.now ?? Date.now)() - options.olderThanMs;
  let swept = 0;
  let after = '';
  for (;;) {
    const page = await chunkCollection(db)
      .find(
        { _id: { $gt: after } },
        { projection: { _id: 1 }, sort: { _id: 1 }, limit: PAGE, batchSize: PAGE + 1 },
      )
      .toArray();
    if (page.length === 0) return swept;
    after = page.at(-1)!._id;
    const old = page.map(({ _id }) => _id).filter((id) => writtenAt(id) < before);
    const orphans = await unnamed(db, old);
    await chunks.remove(orphans);
    swept += orphans.length;
  }
}

async function unnamed(db: Db, chunkIds: string[]): Promise<string[]> {
  const manifestIds = [...new Set(chunkIds.map((id) => id.slice(0, id.lastIndexOf('@'))))];
  const named = new Set<string>();
  const cursor = manifestCollection(db).find(
    { _id: { $in: manifestIds } },
    { projection: { 'chunks.id': 1 } },
  );
  for await (const { chunks } of cursor) for (const { id } of chunks) named.add(id);
  return chunkIds.filter((id) => !named.has(id));
}

function writtenAt(chunkId: string): number {
  return ObjectId.createFromHexString(chunkId.slice(chunkId.lastIndexOf('@') + 1))
    .getTimestamp()
    .getTime();
}
