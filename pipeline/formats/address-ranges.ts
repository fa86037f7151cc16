/** Cuts messages of a slot by ranges of the devices' address: a slot that is too large for one merge is merged range by range. */
import type { ValidatedDevices } from '../../schemas/topics.ts';
import { copyDevices, eachGroup, GroupWriter } from '../wire/device-groups.ts';
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

const writers = Array.from({ length: RANGES }, () => new GroupWriter());
const counts = new Uint32Array(RANGES);
const places = new Uint32Array(RANGES);

/** The messages of each range: each with the devices that it has there, and left out where it has none. */
export function cutByAddress(messages: Iterable<ValidatedDevices>): ValidatedDevices[][] {
  const ranges: ValidatedDevices[][] = Array.from({ length: RANGES }, () => []);
  for (const message of messages) {
    cutGroups(message.groups);
    for (const [range, writer] of writers.entries())
      if (!writer.isEmpty) ranges[range]!.push({ ...message, groups: writer.take() });
  }
  return ranges;
}

/** Into the writer of each range. */
function cutGroups(groups: Buffer): void {
  eachGroup(groups, (start, end, at, devices) => {
    const words = new Uint32Array(devices * WORDS);
    copyDevices(groups, at, devices, new Uint8Array(words.buffer), 0);
    const rangeOfEach = new Uint8Array(devices);
    for (let n = 0; n < devices; n++) {
      rangeOfEach[n] = rangeOf(words, n);
      counts[rangeOfEach[n]!]!++;
    }
    for (let n = 0; n < devices; n++) {
      const range = rangeOfEach[n]!;
      const writer = writers[range]!;
      if (counts[range]! > 0) {
        places[range] = writer.add(groups, start, end, counts[range]!);
        counts[range] = 0;
      }
      copyDevices(groups, at + n * IDENTIFIER_BYTES, 1, writer.bytes, places[range]!);
      places[range]! += IDENTIFIER_BYTES;
    }
  });
}
