/** The most recently used chunks, up to a number of bytes. A chunk never changes, so what is here is always right. */
import { copyOf } from './packed-order.ts';

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
      if (devices.byteLength > maxBytes) return;
      forget(id);
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
