/** Which devices of one packed set are in another, and the set without them. */
import {
  compareOffsets,
  copyOf,
  DEVICE_BYTES,
  deviceCount,
  emptySet,
  gallop,
  lowerBound,
  viewOf,
} from './packed-order.ts';

/** From this difference in size on, a search for each device of the smaller set beats a walk through the larger. */
const GALLOP_FROM_RATIO = 8;

/** Sets bits[i] = 1 for each device number i of `a` that is in `b`; other bits stay. Returns how many it found. */
export function markMembers(a: Uint8Array, b: Uint8Array, bits: Uint8Array): number {
  const countA = deviceCount(a);
  const countB = deviceCount(b);
  if (countA === 0 || countB === 0) return 0;
  if (countB * GALLOP_FROM_RATIO < countA)
    return markBySearchingA(viewOf(a), countA, viewOf(b), countB, bits);
  if (countA * GALLOP_FROM_RATIO < countB)
    return markBySearchingB(viewOf(a), countA, viewOf(b), countB, bits);
  return markByWalking(viewOf(a), countA, viewOf(b), countB, bits);
}

export function countMembers(a: Uint8Array, b: Uint8Array): number {
  return markMembers(a, b, new Uint8Array(deviceCount(a)));
}

/** The devices of `a` whose bit is 0, given how many are 1, in memory of their own. */
export function withoutMarked(a: Uint8Array, bits: Uint8Array, marked: number): Uint8Array {
  const count = deviceCount(a);
  if (marked === 0) return copyOf(a);
  if (marked === count) return emptySet;
  const out = new Uint8Array((count - marked) * DEVICE_BYTES);
  let end = 0;
  let start = 0;
  // Unmarked neighbours are copied together.
  while (start < count) {
    if (bits[start] === 1) {
      start++;
      continue;
    }
    let stop = start + 1;
    while (stop < count && bits[stop] === 0) stop++;
    out.set(a.subarray(start * DEVICE_BYTES, stop * DEVICE_BYTES), end);
    end += (stop - start) * DEVICE_BYTES;
    start = stop;
  }
  return out;
}

function markByWalking(a: DataView, countA: number, b: DataView, countB: number, bits: Uint8Array): number {
  let found = 0;
  let i = gallop(a, b, 0, 0, countA);
  if (i === countA) return 0;
  let j = gallop(b, a, i * DEVICE_BYTES, 0, countB);
  while (i < countA && j < countB) {
    const x = a.getUint32(i * DEVICE_BYTES);
    const y = b.getUint32(j * DEVICE_BYTES);
    const order = x === y ? compareOffsets(a, i * DEVICE_BYTES, b, j * DEVICE_BYTES) : x - y;
    if (order < 0) i++;
    else {
      if (order === 0) {
        bits[i] = 1;
        found++;
        i++;
      }
      j++;
    }
  }
  return found;
}

function markBySearchingA(
  a: DataView,
  countA: number,
  b: DataView,
  countB: number,
  bits: Uint8Array,
): number {
  let found = 0;
  let i = 0;
  for (let j = 0; j < countB && i < countA; j++) {
    i = gallop(a, b, j * DEVICE_BYTES, i, countA);
    if (i < countA && compareOffsets(a, i * DEVICE_BYTES, b, j * DEVICE_BYTES) === 0) {
      bits[i] = 1;
      found++;
      i++;
    }
  }
  return found;
}

function markBySearchingB(
  a: DataView,
  countA: number,
  b: DataView,
  countB: number,
  bits: Uint8Array,
): number {
  let found = 0;
  let j = 0;
  for (let i = 0; i < countA && j < countB; i++) {
    j = gallop(b, a, i * DEVICE_BYTES, j, countB);
    if (j < countB && compareOffsets(b, j * DEVICE_BYTES, a, i * DEVICE_BYTES) === 0) {
      bits[i] = 1;
      found++;
      j++;
    }
  }
  return found;
}

/** Whether some device of `a` lies in [first, last]. */
export function overlapsRange(a: Uint8Array, first: Uint8Array, last: Uint8Array): boolean {
  const view = viewOf(a);
  const count = deviceCount(a);
  const at = lowerBound(view, viewOf(first), 0, 0, count);
  return at < count && compareOffsets(view, at * DEVICE_BYTES, viewOf(last), 0) <= 0;
}
