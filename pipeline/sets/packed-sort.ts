/**
 * Sorts devices by position: a radix sort over their first four bytes moves small integers instead of devices, and only
 * runs that tie go on to the next four bytes. Random identifiers are done after one round; shared prefixes cost a round each.
 */
import {
  compareOffsets,
  copyDevice,
  copyOf,
  DEVICE_BYTES,
  deviceCount,
  isPackedSet,
  viewOf,
} from './packed-order.ts';

const INSERTION_SORT_UP_TO = 16;
/** Below this, clearing large histograms would cost more than the extra pass over the data. */
const WIDE_DIGITS_FROM = 8_192;

/** What sorting needs beside the devices. Sorts of up to KEPT_DEVICES share one. */
const KEPT_DEVICES = 1 << 16;

interface Scratch {
  order: Uint32Array;
  keys: Uint32Array;
  spareOrder: Uint32Array;
  spareKeys: Uint32Array;
  sorted: Uint8Array;
}

function createScratch(devices: number): Scratch {
  const words = () => new Uint32Array(devices);
  return {
    order: words(),
    keys: words(),
    spareOrder: words(),
    spareKeys: words(),
    sorted: new Uint8Array(devices * DEVICE_BYTES),
  };
}

let kept = createScratch(1 << 10);
function scratchFor(devices: number): Scratch {
  if (devices > KEPT_DEVICES) return createScratch(devices);
  let size = kept.order.length;
  while (size < devices) size *= 2;
  if (size > kept.order.length) kept = createScratch(size);
  return kept;
}

interface Sorting extends Scratch {
  view: DataView;
}

const histogram = new Uint32Array(1 << 11);

/** Any order, with duplicates, in; a packed set of its own memory out. */
export function sortDistinct(devices: Uint8Array): Uint8Array {
  const count = deviceCount(devices);
  if (isPackedSet(devices)) return copyOf(devices);
  const sorting: Sorting = { view: viewOf(devices), ...scratchFor(count) };
  for (let i = 0; i < count; i++) sorting.order[i] = i;
  sortRange(sorting, 0, count, 0);
  return gatherDistinct(sorting, count);
}

/** Sorts order[from, to), whose devices are equal in the bytes before `word`. */
function sortRange(sorting: Sorting, from: number, to: number, word: number): void {
  const { view, order, keys } = sorting;
  if (to - from <= INSERTION_SORT_UP_TO) {
    insertionSort(view, order, from, to);
    return;
  }
  for (let i = from; i < to; i++) keys[i] = view.getUint32(order[i]! * DEVICE_BYTES + word);
  if (to - from < WIDE_DIGITS_FROM) radixSort(sorting, from, to, 8);
  else radixSort(sorting, from, to, 11);
  if (word + 4 === DEVICE_BYTES) return;
  let start = from;
  while (start < to) {
    const key = keys[start]!;
    let end = start + 1;
    while (end < to && keys[end] === key) end++;
    // Reuses keys[start, end) only, which this loop has already passed.
    if (end - start > 1) sortRange(sorting, start, end, word + 4);
    start = end;
  }
}

/** Sorts keys[from, to), and order along with it, from the lowest digit to the highest. */
function radixSort(sorting: Sorting, from: number, to: number, digitBits: number): void {
  let { keys, order, spareKeys, spareOrder } = sorting;
  const buckets = 1 << digitBits;
  const starts = histogram;
  for (let shift = 0; shift < 32; shift += digitBits) {
    starts.fill(0, 0, buckets);
    const mask = buckets - 1;
    for (let i = from; i < to; i++) starts[(keys[i]! >>> shift) & mask]!++;
    if (starts[(keys[from]! >>> shift) & mask] === to - from) continue;
    let position = from;
    for (let bucket = 0; bucket < buckets; bucket++) {
      const size = starts[bucket]!;
      starts[bucket] = position;
      position += size;
    }
    for (let i = from; i < to; i++) {
      const key = keys[i]!;
      const target = starts[(key >>> shift) & mask]!++;
      spareKeys[target] = key;
      spareOrder[target] = order[i]!;
    }
    [keys, spareKeys] = [spareKeys, keys];
    [order, spareOrder] = [spareOrder, order];
  }
  if (keys !== sorting.keys) {
    sorting.keys.set(keys.subarray(from, to), from);
    sorting.order.set(order.subarray(from, to), from);
  }
}

function insertionSort(view: DataView, order: Uint32Array, from: number, to: number): void {
  for (let i = from + 1; i < to; i++) {
    const moved = order[i]!;
    let j = i - 1;
    while (j >= from && compareOffsets(view, order[j]! * DEVICE_BYTES, view, moved * DEVICE_BYTES) > 0) {
      order[j + 1] = order[j]!;
      j--;
    }
    order[j + 1] = moved;
  }
}

function gatherDistinct({ view, order, sorted }: Sorting, count: number): Uint8Array {
  const to = viewOf(sorted);
  let end = 0;
  for (let i = 0; i < count; i++) {
    const at = order[i]! * DEVICE_BYTES;
    if (end > 0 && compareOffsets(to, end - DEVICE_BYTES, view, at) === 0) continue;
    copyDevice(to, end, view, at);
    end += DEVICE_BYTES;
  }
  return sorted.slice(0, end);
}
