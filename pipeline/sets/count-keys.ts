/** Counts by key. Small keys are counted in an array: a map would dominate the time for millions of them. */
import type { Devices } from './devices.ts';

const SMALL = 1 << 16;

export function createKeyCounts() {
  let small: Uint32Array | undefined;
  const large = new Map<number, number>();
  return {
    add(key: number): void {
      if (key >= SMALL) {
        large.set(key, (large.get(key) ?? 0) + 1);
        return;
      }
      small ??= new Uint32Array(SMALL);
      small[key]!++;
    },
    /** Adds the counts to the map and resets them. */
    addTo(counts: Map<number, number>): void {
      const add = (key: number, count: number) => counts.set(key, (counts.get(key) ?? 0) + count);
      small?.forEach((count, key) => {
        if (count > 0) add(key, count);
      });
      for (const [key, count] of large) add(key, count);
      small = undefined;
      large.clear();
    },
  };
}

/** For fewer keys an array costs more than it saves. */
const FEW = 1_000;

export function countKeys(keys: Uint32Array, counts: Map<number, number>): void {
  if (keys.length < FEW) {
    for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
    return;
  }
  const counted = createKeyCounts();
  for (let at = 0; at < keys.length; at++) counted.add(keys[at]!);
  counted.addTo(counts);
}

/** Devices that have no key. */
export function countWithoutKeys({ ends }: Devices): number {
  let without = 0;
  let begin = 0;
  for (let n = 0; n < ends.length; n++) {
    if (ends[n] === begin) without++;
    begin = ends[n]!;
  }
  return without;
}
