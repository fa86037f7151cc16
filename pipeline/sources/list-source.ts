/**
 * Presents a list of identifiers as the only object of a bucket, so that a privacy request without a file is loaded like one with a file.
 */
import type { IdentifierListStore } from '../stores/identifier-lists.ts';
import { type ObjectStore, StoreFailure } from './object-store.ts';

export const LIST_KEY = 'identifiers';

export function createListSource(
  lists: Pick<IdentifierListStore, 'size' | 'read'>,
  list: string,
  secrets: readonly Uint8Array[],
): ObjectStore {
  return {
    head: async () => ({ key: LIST_KEY, etag: list, size: await lists.size(list) }),
    list() {
      throw new StoreFailure('missing', 'A list of identifiers is one object.');
    },
    async *open(_bucket, _key, { from = 0, signal }) {
      let at = 0;
      for await (const bytes of lists.read(list, secrets)) {
        signal?.throwIfAborted();
        const skipped = Math.min(bytes.length, Math.max(0, from - at));
        at += bytes.length;
        if (skipped < bytes.length) yield bytes.subarray(skipped);
      }
    },
  };
}
