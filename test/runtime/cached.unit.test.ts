import { LRUCache } from 'lru-cache';
import { expect, it } from 'vitest';
import { cached } from '../../pipeline/runtime/cached.ts';

it('loads once for all who ask, and again after a failure', async () => {
  const cache = new LRUCache<string, Promise<number>>({ max: 10 });
  let loads = 0;
  const failing = async () => {
    loads++;
    throw new Error('no');
  };
  const asked = [cached(cache, 'a', failing), cached(cache, 'a', failing)];
  for (const one of asked) await expect(one).rejects.toThrow('no');
  expect(loads).toBe(1);
  const working = async () => ++loads;
  expect(await Promise.all([cached(cache, 'a', working), cached(cache, 'a', working)])).toEqual([2, 2]);
  expect(await cached(cache, 'a', working)).toBe(2);
});

it('a failure that comes late leaves what was loaded since', async () => {
  const cache = new LRUCache<string, Promise<number>>({ max: 10 });
  let fail = (_: Error) => {};
  const late = cached(
    cache,
    'a',
    () =>
      new Promise<number>((_, reject) => {
        fail = reject;
      }),
  );
  cache.delete('a');
  expect(await cached(cache, 'a', async () => 2)).toBe(2);
  fail(new Error('late'));
  await expect(late).rejects.toThrow('late');
  expect(await cached(cache, 'a', async () => 3)).toBe(2);
});
