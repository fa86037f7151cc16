/**
 * Removes replaced pages in the background. The manifest lists them until its next change, which waits for the removal; if the process dies
 * first, the next change removes them.
 */
import { LRUCache } from 'lru-cache';
import type { Manifest } from './manifests.ts';
import type { Pages } from './pages.ts';

export type Removals = ReturnType<typeof createRemovals>;

/** Maximum number of manifests remembered. */
const MAX_KNOWN = 10_000;

export function createRemovals(pages: Pages) {
  const begun = new LRUCache<string, { version: number; isDone: Promise<boolean> }>({ max: MAX_KNOWN });

  return {
    /** Starts removing the pages replaced by the manifest just stored. */
    begin({ _id, version, replaced }: Manifest): void {
      if (replaced.length === 0) return;
      const isDone = pages.remove(replaced).then(
        () => true,
        () => false,
      );
      begun.set(_id, { version, isDone });
    },

    /** Resolves when all pages replaced by the manifest's last change are removed. */
    async finish({ _id, version, replaced }: Manifest): Promise<void> {
      if (replaced.length === 0) return;
      const own = begun.get(_id);
      if (own?.version === version && (await own.isDone)) return;
      await pages.remove(replaced);
    },
  };
}
