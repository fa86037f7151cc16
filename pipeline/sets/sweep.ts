/**
 * Removes orphans: chunks that no manifest names. They are left by a process that ended between writing chunks and replacing
 * the manifest, or between that and removing what it replaced.
 *
 * A chunk that is being added is not named yet either, so only those are taken that were seen unnamed for long enough, by this
 * process and its own steady clock: what a chunk's identifier says of its age is the word of another machine's clock. The chunks are
 * listed before the manifests are read: one that was unnamed for so long never will be named.
 */
import type { Db } from 'mongodb';
import { type Chunks, chunkCollection } from './chunks.ts';
import { manifestCollection } from './manifests.ts';

const PAGE = 2_000;

export interface SweepOptions {
  /** Well above the five minutes that an addition has for naming its chunks. */
  unnamedForMs: number;
}

/** Returns how many chunks it removed. */
export type SweepOrphans = (options: SweepOptions) => Promise<number>;

export function createOrphanSweep(db: Db, chunks: Chunks): SweepOrphans {
  let unnamedSince = new Map<string, number>();

  return async ({ unnamedForMs }) => {
    const now = performance.now();
    const seen = new Map<string, number>();
    let swept = 0;
    let after = '';
    for (;;) {
      const page = await chunkCollection(db)
        .find(
          { _id: { $gt: after } },
          { projection: { _id: 1 }, sort: { _id: 1 }, limit: PAGE, batchSize: PAGE + 1 },
        )
        .toArray();
      if (page.length === 0) break;
      after = page.at(-1)!._id;
      const ids = page.map(({ _id }) => _id);
      const orphans: string[] = [];
      for (const id of await unnamed(db, ids)) {
        const since = unnamedSince.get(id) ?? now;
        if (now - since >= unnamedForMs) orphans.push(id);
        else seen.set(id, since);
      }
      await chunks.remove(orphans);
      swept += orphans.length;
    }
    unnamedSince = seen;
    return swept;
  };
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
