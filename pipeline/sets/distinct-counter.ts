/**
 * Counts distinct devices exactly, in a hash table of bounded size: open addressing over the 16 bytes of each device.
 *
 * When there are more devices than the table may hold, it goes on with a part of them: those whose hash lies in a range. The caller
 * then shows it everything again, for the next range, until there is none left.
 */
import { randomInt } from 'node:crypto';
import { DEVICE_BYTES, viewOf } from './packed-order.ts';

const WORDS = DEVICE_BYTES / 4;
const BATCH = 64;
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
  const hashes = new Int32Array(BATCH);
  /** Never read: it is there so that the compiler does not leave out looking at the places. */
  const seen = new Int32Array(BATCH);
  let table: Int32Array = new Int32Array(FIRST_PLACES * WORDS);
  let taken = 0;
  /** So many may be taken. */
  let room = roomIn(table);
  /** A place of four zeros is free, so the device of zeros is counted apart. */
  let hasZero = false;
  let counted = 0;
  let from = LOWEST;
  let to = HIGHEST;

  function roomIn(places: Int32Array): number {
    return Math.min(maxDevices, Math.floor((places.length / WORDS) * MAX_LOAD));
  }

  function hashOf(a: number, b: number, c: number, d: number): number {
    let hash = Math.imul(a ^ seed, 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 15) ^ b, 0xc2b2ae35 | 0);
    hash = Math.imul(hash ^ (hash >>> 13) ^ c, 0x27d4eb2f);
    hash = Math.imul(hash ^ (hash >>> 16) ^ d, 0x165667b1);
    hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b);
    return hash ^ (hash >>> 13);
  }

  /** Twice as many places; or half of the range, where there may be no more. */
  function makeRoom(): void {
    while (taken >= room) {
      const isFull = taken >= maxDevices;
      if (isFull) to = from + Math.floor((to - from) / 2);
      moveTo(new Int32Array(isFull ? table.length : 2 * table.length));
    }
  }

  function moveTo(places: Int32Array): void {
    const old = table;
    table = places;
    room = roomIn(places);
    taken = 0;
    for (let at = 0; at < old.length; at += WORDS) {
      const a = old[at]!;
      const b = old[at + 1]!;
      const c = old[at + 2]!;
      const d = old[at + 3]!;
      if ((a | b | c | d) === 0) continue;
      const hash = hashOf(a, b, c, d);
      if (hash <= to && insert(table, hash, a, b, c, d)) taken++;
    }
  }

  /** Also looks at the places: those of a batch come into the processor's cache together, which makes all of it twice as fast. */
  function hashAll(view: DataView, start: number, end: number): void {
    const places = table;
    const last = places.length - 1;
    for (let at = start, i = 0; at < end; at += DEVICE_BYTES, i++) {
      const hash = hashOf(
        view.getInt32(at, true),
        view.getInt32(at + 4, true),
        view.getInt32(at + 8, true),
        view.getInt32(at + 12, true),
      );
      hashes[i] = hash;
      seen[i] = places[(hash << 2) & last]!;
    }
  }

  function insertAll(view: DataView, start: number, end: number): void {
    let places = table;
    for (let at = start, i = 0; at < end; at += DEVICE_BYTES, i++) {
      const hash = hashes[i]!;
      if (hash < from || hash > to) continue;
      const a = view.getInt32(at, true);
      const b = view.getInt32(at + 4, true);
      const c = view.getInt32(at + 8, true);
      const d = view.getInt32(at + 12, true);
      if ((a | b | c | d) === 0) hasZero = true;
      else if (insert(places, hash, a, b, c, d) && ++taken >= room) {
        makeRoom();
        places = table;
      }
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
      for (let start = 0; start < devices.byteLength; start += BATCH * DEVICE_BYTES) {
        const end = Math.min(devices.byteLength, start + BATCH * DEVICE_BYTES);
        hashAll(view, start, end);
        insertAll(view, start, end);
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

/** True if the device was not there. */
function insert(places: Int32Array, hash: number, a: number, b: number, c: number, d: number): boolean {
  const last = places.length - 1;
  for (let at = (hash << 2) & last; ; at = (at + WORDS) & last) {
    const first = places[at]!;
    if (first === a && places[at + 1] === b && places[at + 2] === c && places[at + 3] === d) return false;
    if (first === 0 && (places[at + 1]! | places[at + 2]! | places[at + 3]!) === 0) {
      places[at] = a;
      places[at + 1] = b;
      places[at + 2] = c;
      places[at + 3] = d;
      return true;
    }
  }
}
