/**
 * What is too much to merge at once is merged by ranges of its identifiers: their counts simply add up. Where to cut is told by a
 * sample, so that the ranges are alike however the identifiers begin.
 */

import { concatenate, deviceCount, sortDistinct } from '../../sets/packed.ts';
import { compareOffsets, copyDevice, DEVICE_BYTES, viewOf } from '../../sets/packed-order.ts';

/** From the first identifier on, up to, without, the other; open where there is none. */
export interface KeyRange {
  from?: Uint8Array;
  to?: Uint8Array;
}

export const everything: KeyRange = {};

/** So many identifiers for each range that is wanted. */
const SAMPLES_A_RANGE = 256;

/** For ranges of about this many bytes. */
export function createSample(rangeBytes: number) {
  const oneOf = Math.max(1, Math.floor(rangeBytes / DEVICE_BYTES / SAMPLES_A_RANGE));
  const taken: Uint8Array[] = [];
  let skip = 0;
  return {
    add(devices: Uint8Array): void {
      let at = skip * DEVICE_BYTES;
      for (; at < devices.length; at += oneOf * DEVICE_BYTES)
        taken.push(new Uint8Array(devices.subarray(at, at + DEVICE_BYTES)));
      skip = (at - devices.length) / DEVICE_BYTES;
    },

    /** So many ranges, or fewer if there are too few identifiers to tell them apart. */
    ranges(wanted: number): KeyRange[] {
      const sample = sortDistinct(concatenate(taken));
      const count = Math.max(1, Math.min(wanted, deviceCount(sample)));
      const cut = (i: number) => {
        const at = Math.floor((i * deviceCount(sample)) / count) * DEVICE_BYTES;
        return i === 0 || i === count ? undefined : sample.slice(at, at + DEVICE_BYTES);
      };
      return Array.from({ length: count }, (_, i) => ({ from: cut(i), to: cut(i + 1) }));
    },
  };
}

/** The devices in the range: these bytes themselves if all are, else a copy. */
export function within(devices: Uint8Array, { from, to }: KeyRange): Uint8Array {
  if (!from && !to) return devices;
  const view = viewOf(devices);
  const low = from && viewOf(from);
  const high = to && viewOf(to);
  const isWithin = (at: number) =>
    !(low && compareOffsets(view, at, low, 0) < 0) && !(high && compareOffsets(view, at, high, 0) >= 0);
  let length = 0;
  for (let at = 0; at < devices.length; at += DEVICE_BYTES) if (isWithin(at)) length += DEVICE_BYTES;
  const found = new Uint8Array(length);
  const target = viewOf(found);
  let end = 0;
  for (let at = 0; at < devices.length; at += DEVICE_BYTES) {
    if (!isWithin(at)) continue;
    copyDevice(target, end, view, at);
    end += DEVICE_BYTES;
  }
  return found;
}
