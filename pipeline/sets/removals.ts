/**
 * Removes the pages that a change has replaced, beside whatever comes next. The manifest lists them until its next change, which waits
 * until they are gone: a process that dies meanwhile leaves them to whoever makes that change.
 */
import { LRUCache } from 'lru-cache';
import type { Manifest } from './manifests.ts';
import type { Pages } from './pages.ts';

export type Removals = ReturnType<typeof createRemovals>;

/** Slots of spaces whose last change was made here. */
const MAX_KNOWN = 10_000;

export function createRemovals(pages: Pages) {
  const begun = new LRUCache<string, { version: number; isDone: Promise<boolean> }>({ max: MAX_KNOWN });

  return {
    /** Of the manifest that was just stored. */
    begin({ _id, version, replaced }: Manifest): void {
      if (replaced.length === 0) return;
      const isDone = pages.remove(replaced).then(
        () => true,
        () => false,
      );
      begun.set(_id, { version, isDone });
    },

    /** Resolves when nothing is left of what the manifest's last change has replaced. */
    async finish({ _id, version, replaced }: Manifest): Promise<void> {
      if (replaced.length === 0) return;
      const own = begun.get(_id);
      if (own?.version === version && (await own.isDone)) return;
      await pages.remove(replaced);
    },
  };
}
