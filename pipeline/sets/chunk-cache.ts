/**
 * Recently used chunks, up to a number of bytes. A chunk never changes, so what is here is always right.
 *
 * Sets are read from end to end, again and again. Were every chunk let in, a set that is larger than the cache would push out each
 * chunk just before its next use and never find one. So a full cache lets in one newcomer of eight, and keeps most of what it has.
 */
import { LRUCache } from 'lru-cache';
import { copyOf } from './packed-order.ts';

const ADMIT_ONE_OF = 8;

export interface ChunkCache {
  get(id: string): Uint8Array | undefined;
  /** Keeps a copy: the driver's bytes are a part of a whole reply, which would stay alive with them. */
  put(id: string, devices: Uint8Array): void;
  forget(id: string): void;
}

export function createChunkCache(maxBytes: number): ChunkCache {
  const entries = new LRUCache<string, Uint8Array>({
    maxSize: Math.max(1, Math.floor(maxBytes)),
    sizeCalculation: ({ byteLength }) => byteLength,
  });
  let turnedAway = 0;

  return {
    get: (id) => entries.get(id),
    put(id, devices) {
      if (devices.byteLength > maxBytes || entries.has(id)) return;
      const isFull = entries.calculatedSize + devices.byteLength > maxBytes;
      if (isFull && ++turnedAway % ADMIT_ONE_OF !== 0) return;
      entries.set(id, copyOf(devices));
    },
    forget: (id) => entries.delete(id),
  };
}
