/**
 * Recently used chunks, up to a number of bytes. A chunk never changes, so what is here is always right.
 *
 * Sets are read from end to end, again and again. Were every chunk let in, a set that is larger than the cache would push out each
 * chunk just before its next use and never find one. So a full cache lets in one newcomer of eight, and keeps most of what it has.
 */
import { copyOf } from './packed-order.ts';

const ADMIT_ONE_OF = 8;

export interface ChunkCache {
  get(id: string): Uint8Array | undefined;
  /** Keeps a copy: the driver's bytes are a part of a whole reply, which would stay alive with them. */
  put(id: string, devices: Uint8Array): void;
  forget(id: string): void;
  readonly bytes: number;
}

export function createChunkCache(maxBytes: number): ChunkCache {
  // A Map keeps the order of insertion, so the first entry is the one that was not used for longest.
  const entries = new Map<string, Uint8Array>();
  let bytes = 0;
  let turnedAway = 0;

  const forget = (id: string) => {
    bytes -= entries.get(id)?.byteLength ?? 0;
    entries.delete(id);
  };

  return {
    get bytes() {
      return bytes;
    },
    get(id) {
      const devices = entries.get(id);
      if (devices) {
        entries.delete(id);
        entries.set(id, devices);
      }
      return devices;
    },
    put(id, devices) {
      if (devices.byteLength > maxBytes || entries.has(id)) return;
      if (bytes + devices.byteLength > maxBytes && ++turnedAway % ADMIT_ONE_OF !== 0) return;
      entries.set(id, copyOf(devices));
      bytes += devices.byteLength;
      for (const oldest of entries.keys()) {
        if (bytes <= maxBytes) break;
        forget(oldest);
      }
    },
    forget,
  };
}
