import { expect, it } from 'vitest';
import { type ChunkCache, createChunkCache } from '../../pipeline/sets/chunk-cache.ts';

const bytes = (length: number, fill = 1) => new Uint8Array(length).fill(fill);
const bytesOf = (cache: ChunkCache, ids: string[]) =>
  ids.reduce((sum, id) => sum + (cache.get(id)?.byteLength ?? 0), 0);

it('never holds more than its bound, and lets go of what was not used for longest', () => {
  const cache = createChunkCache(100);
  cache.put('a', bytes(40));
  cache.put('b', bytes(40));
  cache.get('a');
  for (let offered = 0; offered < 8; offered++) cache.put('c', bytes(40));
  expect(bytesOf(cache, ['a', 'b', 'c'])).toBe(80);
  expect(cache.get('b')).toBeUndefined();
  expect(cache.get('a')).toEqual(bytes(40));
  expect(cache.get('c')).toEqual(bytes(40));
});

it('a set larger than the cache still finds part of itself when it is read again', () => {
  const cache = createChunkCache(40 * 16);
  let found = 0;
  for (let round = 0; round < 10; round++) {
    for (let chunk = 0; chunk < 100; chunk++) {
      if (cache.get(String(chunk))) found++;
      else cache.put(String(chunk), bytes(16));
    }
  }
  const all = Array.from({ length: 100 }, (_, chunk) => String(chunk));
  expect(bytesOf(cache, all)).toBe(40 * 16);
  expect(found).toBeGreaterThan(200);
});

it('does not take what is larger than all of it, and counts a chunk once', () => {
  const cache = createChunkCache(100);
  cache.put('huge', bytes(101));
  expect(cache.get('huge')).toBeUndefined();
  cache.put('a', bytes(60));
  cache.put('a', bytes(60));
  // There would be no room for it if the first one counted twice.
  cache.put('b', bytes(40));
  expect(bytesOf(cache, ['a', 'b'])).toBe(100);
  cache.forget('a');
  cache.forget('a');
  cache.put('c', bytes(60));
  expect(bytesOf(cache, ['a', 'b', 'c'])).toBe(100);
});

it('keeps a copy, not the reply that the bytes came in', () => {
  const cache = createChunkCache(100);
  const reply = bytes(1_000);
  cache.put('a', reply.subarray(10, 26));
  reply.fill(9);
  expect(cache.get('a')).toEqual(bytes(16));
  expect(cache.get('a')!.buffer.byteLength).toBe(16);
});
