/** Cuts messages of a slot by ranges of the devices' address: a slot that is too large for one merge is merged range by range. */
import type { ValidatedDevices } from '../../schemas/topics.ts';
import { ADDRESS_BITS, addressOf, hashWords, IDENTIFIER_BYTES, WORDS } from './identifier.ts';

const RANGE_BITS = 6;
export const RANGES = 2 ** RANGE_BITS;

/** A message, or what of it lies in a range. */
export interface InRange {
  range: number;
  message: ValidatedDevices;
}

const rangeOf = (words: Uint32Array, n: number) =>
  addressOf(hashWords(words, n * WORDS)) >>> (ADDRESS_BITS - RANGE_BITS);

/** The messages of each range: each with the devices that it has there, and left out where it has none. */
export function cutByAddress(messages: Iterable<ValidatedDevices>): ValidatedDevices[][] {
  const ranges: ValidatedDevices[][] = Array.from({ length: RANGES }, () => []);
  for (const message of messages) {
    const parts = new Map<number, ValidatedDevices>();
    for (const { key, devices } of message.groups) {
      for (const [range, own] of cutDevices(devices)) {
        const part = parts.get(range) ?? { ...message, groups: [] };
        parts.set(range, part);
        part.groups.push({ key, devices: own });
      }
    }
    for (const [range, part] of parts) ranges[range]!.push(part);
  }
  return ranges;
}

function cutDevices(devices: Uint8Array): Map<number, Uint8Array> {
  const words = new Uint32Array(new Uint8Array(devices).buffer);
  const rangeOfEach = Uint8Array.from({ length: words.length / WORDS }, (_, n) => rangeOf(words, n));
  const counts = new Uint32Array(RANGES);
  for (const range of rangeOfEach) counts[range]!++;
  const parts = new Map<number, Uint8Array>();
  for (const [range, count] of counts.entries())
    if (count > 0) parts.set(range, new Uint8Array(count * IDENTIFIER_BYTES));
  const ends = new Uint32Array(RANGES);
  for (const [n, range] of rangeOfEach.entries()) {
    const at = n * IDENTIFIER_BYTES;
    parts.get(range)!.set(devices.subarray(at, at + IDENTIFIER_BYTES), ends[range]);
    ends[range]! += IDENTIFIER_BYTES;
  }
  return parts;
}
