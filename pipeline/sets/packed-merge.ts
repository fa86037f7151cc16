/** Union of packed sets, by merging neighbours until one is left: each round halves the number of sets. */
import { compareOffsets, copyDevice, DEVICE_BYTES, emptySet, viewOf } from './packed-order.ts';
import { countMembers } from './packed-search.ts';

/** The union; of one set, that set itself. */
export function union(sets: Uint8Array[]): Uint8Array {
  const filled = sets.filter((set) => set.byteLength > 0);
  if (filled.length === 0) return emptySet;
  if (filled.length === 1) return filled[0]!;
  return unite(mergeDownTo(2, filled));
}

/** How many devices are in at least one of the sets. */
export function countDistinct(sets: Uint8Array[]): number {
  const filled = sets.filter((set) => set.byteLength > 0);
  if (filled.length === 0) return 0;
  if (filled.length === 1) return filled[0]!.byteLength / DEVICE_BYTES;
  const [a, b] = mergeDownTo(2, filled) as [Uint8Array, Uint8Array];
  return (a.byteLength + b.byteLength) / DEVICE_BYTES - countMembers(a, b);
}

function mergeDownTo(count: number, sets: Uint8Array[]): Uint8Array[] {
  // Neighbours in size are merged first, so that a large set is not copied once for every small one.
  let round = [...sets].sort((a, b) => a.byteLength - b.byteLength);
  if (round.length <= count) return round;
  // Two rooms are enough for any number of rounds: each reads from one and writes to the other.
  const size = round.reduce((sum, set) => sum + set.byteLength, 0);
  let room: Uint8Array = new Uint8Array(size);
  let other: Uint8Array | undefined;
  while (round.length > count) {
    round = mergePairs(round, room);
    [room, other] = [other ?? new Uint8Array(size), room];
  }
  return round;
}

function mergePairs(sets: Uint8Array[], room: Uint8Array): Uint8Array[] {
  const merged: Uint8Array[] = [];
  let at = 0;
  for (let i = 0; i < sets.length; i += 2) {
    const end = at + mergeInto(room.subarray(at), sets[i]!, sets[i + 1] ?? emptySet);
    merged.push(room.subarray(at, end));
    at = end;
  }
  return merged;
}

function unite([a, b]: Uint8Array[]): Uint8Array {
  if (!a || !b) return a ?? emptySet;
  const out = new Uint8Array(a.byteLength + b.byteLength);
  const end = mergeInto(out, a, b);
  return end === out.byteLength ? out : out.slice(0, end);
}

/** Writes the union of two sets to `out`; returns the bytes written. */
function mergeInto(out: Uint8Array, a: Uint8Array, b: Uint8Array): number {
  const from = viewOf(a);
  const other = viewOf(b);
  const to = viewOf(out);
  const endA = a.byteLength;
  const endB = b.byteLength;
  let i = 0;
  let j = 0;
  let end = 0;
  while (i < endA && j < endB) {
    const x = from.getUint32(i);
    const y = other.getUint32(j);
    // The first word settles nearly all; only a tie is worth a call.
    const tie = x === y ? compareOffsets(from, i, other, j) : 0;
    if (x < y || tie < 0) {
      copyDevice(to, end, from, i);
      i += DEVICE_BYTES;
    } else {
      copyDevice(to, end, other, j);
      j += DEVICE_BYTES;
      if (x === y && tie === 0) i += DEVICE_BYTES;
    }
    end += DEVICE_BYTES;
  }
  const rest = i < endA ? a.subarray(i) : b.subarray(j);
  out.set(rest, end);
  return end + rest.byteLength;
}
