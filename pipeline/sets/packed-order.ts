/**
 * A packed set: n identifiers of 16 bytes back to back, ascending bytewise, distinct. Everything here reads it in place through
 * a DataView, four bytes at a time: no object per device, and no alignment asked of the bytes that a driver hands over.
 */
export const DEVICE_BYTES = 16;

export const emptySet = new Uint8Array(0);

export function deviceCount(devices: Uint8Array): number {
  if (devices.byteLength % DEVICE_BYTES !== 0) {
    throw new RangeError(`${devices.byteLength} bytes are not a whole number of devices`);
  }
  return devices.byteLength / DEVICE_BYTES;
}

export function viewOf(devices: Uint8Array): DataView {
  return new DataView(devices.buffer, devices.byteOffset, devices.byteLength);
}

/** A copy that keeps nothing else alive. (A Buffer's own slice would share its memory.) */
export function copyOf(devices: Uint8Array): Uint8Array {
  return new Uint8Array(devices);
}

/** One after the other, in any order; of one part, that part itself. */
export function concatenate(parts: Uint8Array[]): Uint8Array {
  if (parts.length === 1) return parts[0]!;
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Compares the device at byte offset `i` of `a` with the one at byte offset `j` of `b`. */
export function compareOffsets(a: DataView, i: number, b: DataView, j: number): number {
  for (let word = 0; word < DEVICE_BYTES; word += 4) {
    const x = a.getUint32(i + word);
    const y = b.getUint32(j + word);
    if (x !== y) return x < y ? -1 : 1;
  }
  return 0;
}

/** Little-endian, as the machine is: a copy need not turn the bytes around. */
export function copyDevice(to: DataView, end: number, from: DataView, at: number): void {
  to.setUint32(end, from.getUint32(at, true), true);
  to.setUint32(end + 4, from.getUint32(at + 4, true), true);
  to.setUint32(end + 8, from.getUint32(at + 8, true), true);
  to.setUint32(end + 12, from.getUint32(at + 12, true), true);
}

export function isPackedSet(devices: Uint8Array): boolean {
  const view = viewOf(devices);
  const end = deviceCount(devices) * DEVICE_BYTES;
  for (let at = DEVICE_BYTES; at < end; at += DEVICE_BYTES) {
    const before = view.getUint32(at - DEVICE_BYTES);
    const here = view.getUint32(at);
    if (before > here) return false;
    if (before === here && compareOffsets(view, at - DEVICE_BYTES, view, at) >= 0) return false;
  }
  return true;
}

/** The first word settles nearly all; only a tie is worth a call. */
function isBelow(set: DataView, at: number, target: DataView, offset: number, firstWord: number): boolean {
  const word = set.getUint32(at);
  return word === firstWord ? compareOffsets(set, at, target, offset) < 0 : word < firstWord;
}

/** The first device number in [from, to) that is not below the target; `to` if all are. */
export function lowerBound(
  set: DataView,
  target: DataView,
  offset: number,
  from: number,
  to: number,
): number {
  const firstWord = target.getUint32(offset);
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBelow(set, middle * DEVICE_BYTES, target, offset, firstWord)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** As lowerBound, for a target that is expected soon after `from`: steps double until they pass it. */
export function gallop(set: DataView, target: DataView, offset: number, from: number, to: number): number {
  const firstWord = target.getUint32(offset);
  let step = 1;
  let low = from;
  let high = from;
  while (high < to && isBelow(set, high * DEVICE_BYTES, target, offset, firstWord)) {
    low = high + 1;
    high += step;
    step *= 2;
  }
  return lowerBound(set, target, offset, low, Math.min(high, to));
}
