import type { LRUCache } from 'lru-cache';

/** Loads a missing entry. Concurrent callers share the load; a failure is not cached. */
export function cached<Key extends string | number, T>(
  cache: LRUCache<Key, Promise<T>>,
  key: Key,
  load: () => Promise<T>,
): Promise<T> {
  const known = cache.get(key);
  if (known) return known;
  const loading = load();
  cache.set(key, loading);
  loading.catch(() => {
    if (cache.peek(key) === loading) cache.delete(key);
  });
  return loading;
}
