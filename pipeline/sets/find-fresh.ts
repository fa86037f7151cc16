/** The part of an addition that is not stored yet. */
import type { DeviceHash } from '../formats/device-hash.ts';
import { createWriter, type Devices, firstKey } from './devices.ts';
import { joinRegion } from './join.ts';
import type { LoadedRegion } from './read-regions.ts';

interface Fresh {
  /** Devices with their new keys. */
  devices: Devices;
  /** New devices. */
  added: Devices;
}

export function findFresh(loaded: LoadedRegion, hash: DeviceHash): Fresh {
  const wanted = loaded.wanted!;
  if (loaded.levels.length === 0) return { devices: wanted, added: wanted };
  const stored = new Uint8Array(wanted.count);
  const known = new Uint8Array(wanted.keys.length);
  let isNew = true;
  let next = 0;
  let end = 0;
  const hits = {
    onDevice(n: number) {
      isNew = false;
      stored[n] = 1;
      next = firstKey(wanted, n);
      end = wanted.ends[n]!;
    },
    // Both lists are ascending.
    onKey(key: number) {
      while (next < end && wanted.keys[next]! < key) next++;
      if (next < end && wanted.keys[next] === key) known[next] = 1;
    },
  };
  joinRegion(loaded, hits, hash);
  return isNew ? { devices: wanted, added: wanted } : takeFresh(wanted, stored, known);
}

function takeFresh(wanted: Devices, stored: Uint8Array, known: Uint8Array): Fresh {
  const devices = createWriter(wanted.count, wanted.keys.length);
  const added = createWriter(wanted.count, 0);
  for (let n = 0; n < wanted.count; n++) {
    const start = firstKey(wanted, n);
    const end = wanted.ends[n]!;
    let isFresh = stored[n] === 0;
    if (isFresh) added.begin(wanted, n);
    for (let at = start; at < end && !isFresh; at++) isFresh = known[at] === 0;
    if (!isFresh) continue;
    devices.begin(wanted, n);
    for (let at = start; at < end; at++) if (known[at] === 0) devices.key(wanted.keys[at]!);
  }
  return { devices: devices.finish(), added: added.finish() };
}
