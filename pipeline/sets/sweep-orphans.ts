/** Removes documents that were written and never named, because their process died first. Looks at tokens, not at documents. */
import type { EditDeps } from './edit-slot.ts';
import { tokenTime } from './edit-slot.ts';
import { writtenWith } from './regions.ts';

export function createOrphanSweep({ manifests, pages }: EditDeps) {
  /** The next document behind this id. */
  const next = (behind: string) =>
    pages.collection
      .find({ _id: { $gt: behind } }, { projection: { _id: 1 } })
      .sort({ _id: 1 })
      .limit(1)
      .next();

  async function isNamed(manifest: string, token: string): Promise<boolean> {
    const found = await manifests.collection.findOne({ _id: manifest }, { projection: { regions: 1 } });
    const levels = (found?.regions ?? []).flatMap((region) => region.levels);
    return levels.some((level) => level.token.startsWith(`${token}.`));
  }

  /** Gives the number of tokens swept. */
  return async ({
    unnamedForMs,
    signal,
  }: {
    unnamedForMs: number;
    signal?: AbortSignal;
  }): Promise<number> => {
    let swept = 0;
    for (let behind = ''; ; ) {
      signal?.throwIfAborted();
      const found = await next(behind);
      if (!found) return swept;
      const [manifest = '', rewrite = ''] = found._id.split(':');
      const [token = ''] = rewrite.split('.');
      const written = writtenWith(manifest, token);
      behind = written.to;
      if (Date.now() - tokenTime(token) < unnamedForMs || (await isNamed(manifest, token))) continue;
      await pages.remove([written]);
      swept++;
    }
  };
}
