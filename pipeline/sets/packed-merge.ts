/** Union of packed sets, by merging neighbours until one is left: each round halves the number of sets. */
import { compareOffsets, copyDevice, copyOf, DEVICE_BYTES, emptySet, viewOf } from './packed-order.ts';
import { countMembers } from './packed-search.ts';

/** The union, in memory of its own. */
export function union(sets: Uint8Array[]): Uint8Array {
  const filled = sets.filter((set) => set.byteLength > 0);
  if (filled.length === 0) return emptySet;
  if (filled.length === 1) return copyOf(filled[0]!);
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
  while (round.length > count) {
    const merged: Uint8Array[] = [];
    for (let i = 0; i < round.length; i += 2) merged.push(unite(round.slice(i, i + 2)));
    round = merged;
  }
  return round;
}

function unite(pair: Uint8Array[]): Uint8Array {
  const [a, b] = pair;
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
