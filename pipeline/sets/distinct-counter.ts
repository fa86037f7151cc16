/**
 * Counts distinct devices exactly, in a hash table of bounded size: open addressing over the 16 bytes of each device.
 *
 * When there are more devices than the table may hold, it goes on with a part of them: those whose hash lies in a range. The caller
 * then shows it everything again, for the next range, until there is none left.
 */
import { randomInt } from 'node:crypto';
import { DEVICE_BYTES, viewOf } from './packed-order.ts';

const WORDS = DEVICE_BYTES / 4;
const FIRST_PLACES = 1_024;
/** Share of the places that may be taken. */
const MAX_LOAD = 0.6;
/** With this load, 2^23 places: 128 MB. */
const MAX_DEVICES = 5_000_000;
/** Hashes are 32-bit integers with a sign. */
const [LOWEST, HIGHEST] = [-(2 ** 31), 2 ** 31 - 1];

export type DistinctCounter = ReturnType<typeof createDistinctCounter>;

export function createDistinctCounter(maxDevices = MAX_DEVICES) {
  // Whoever does not know the seed cannot make up devices that all want the same place.
  const seed = randomInt(2 ** 31);
  let table = new Int32Array(FIRST_PLACES * WORDS);
  let taken = 0;
  /** A place of four zeros is free, so the device of zeros is counted apart. */
  let hasZero = false;
  let counted = 0;
  let from = LOWEST;
  let to = HIGHEST;

  function hashOf(a: number, b: number, c: number, d: number): number {
    let hash = Math.imul(a ^ seed, 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 15) ^ b, 0xc2b2ae35 | 0);
    hash = Math.imul(hash ^ (hash >>> 13) ^ c, 0x27d4eb2f);
    hash = Math.imul(hash ^ (hash >>> 16) ^ d, 0x165667b1);
    hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b);
    return hash ^ (hash >>> 13);
  }

  /** True if the device was not there. */
  function insert(hash: number, a: number, b: number, c: number, d: number): boolean {
    const last = table.length - 1;
    for (let at = (hash << 2) & last; ; at = (at + WORDS) & last) {
      const first = table[at]!;
      if (first === a && table[at + 1] === b && table[at + 2] === c && table[at + 3] === d) return false;
      if (first === 0 && (table[at + 1]! | table[at + 2]! | table[at + 3]!) === 0) {
        table[at] = a;
        table[at + 1] = b;
        table[at + 2] = c;
        table[at + 3] = d;
        return true;
      }
    }
  }

  /** Twice as many places; or half of the range, where there may be no more. */
  function makeRoom(): void {
    const old = table;
    if (taken >= maxDevices) to = from + Math.floor((to - from) / 2);
    table = new Int32Array(taken >= maxDevices ? old.length : 2 * old.length);
    taken = 0;
    for (let at = 0; at < old.length; at += WORDS) {
      const a = old[at]!;
      const b = old[at + 1]!;
      const c = old[at + 2]!;
      const d = old[at + 3]!;
      if ((a | b | c | d) === 0) continue;
      const hash = hashOf(a, b, c, d);
      if (hash <= to && insert(hash, a, b, c, d)) taken++;
    }
  }

  return {
    /** Forgets everything and begins anew. */
    begin(): void {
      table.fill(0);
      taken = 0;
      hasZero = false;
      counted = 0;
      from = LOWEST;
      to = HIGHEST;
    },

    add(devices: Uint8Array): void {
      const view = viewOf(devices);
      for (let at = 0; at < devices.byteLength; at += DEVICE_BYTES) {
        const a = view.getInt32(at, true);
        const b = view.getInt32(at + 4, true);
        const c = view.getInt32(at + 8, true);
        const d = view.getInt32(at + 12, true);
        const hash = hashOf(a, b, c, d);
        if (hash < from || hash > to) continue;
        if ((a | b | c | d) === 0) hasZero = true;
        else if (insert(hash, a, b, c, d)) {
          taken++;
          while (taken >= maxDevices || taken > (table.length / WORDS) * MAX_LOAD) makeRoom();
        }
      }
    },

    /** True if there is another range, for which everything must be added again. */
    nextRange(): boolean {
      if (to === HIGHEST) return false;
      counted += taken;
      taken = 0;
      table.fill(0);
      from = to + 1;
      to = HIGHEST;
      return true;
    },

    /** Complete when there is no further range. */
    count: (): number => counted + taken + (hasZero ? 1 : 0),
  };
}
