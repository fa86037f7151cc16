/** Cuts messages of a slot by ranges of the devices' address: a slot that is too large for one merge is merged range by range. */
import type { ValidatedDevices } from '../../schemas/topics.ts';
import { nextTurn } from '../runtime/loop-turn.ts';
import { copyDevices, eachGroup } from '../wire/device-groups.ts';
import { FramedWriter, headOf } from '../wire/framed-devices.ts';
import type { DeviceHash } from './device-hash.ts';
import { ADDRESS_BITS, addressOf, IDENTIFIER_BYTES, WORDS } from './identifier.ts';

const RANGE_BITS = 6;
export const RANGES = 2 ** RANGE_BITS;

/** Messages, or what of them lies in a range. */
export interface InRange {
  range: number;
  messages: Iterable<ValidatedDevices>;
}

/** Addresses from the one up to, without, the other. */
export interface Addresses {
  from: number;
  to: number;
}

/** One of several parts of a range, of about the same size. */
export function partOfRange(range: number, part: number, parts: number): Addresses {
  const size = 2 ** (ADDRESS_BITS - RANGE_BITS);
  const startOf = (n: number) => range * size + Math.floor((n * size) / parts);
  return { from: startOf(part), to: startOf(part + 1) };
}

const rangeOf = (hash: number) => addressOf(hash) >>> (ADDRESS_BITS - RANGE_BITS);

/** A piece that is longer is not written on. */
const PIECE_BYTES = 64_000;
/** Cut in some milliseconds. */
const TURN_BYTES = 500_000;

/** The messages of each range, framed: each with the devices that it has there, and left out where it has none. */
export async function cutByAddress(
  messages: Iterable<ValidatedDevices>,
  hash: DeviceHash,
): Promise<Buffer[][]> {
  const ranges = Array.from({ length: RANGES }, () => ({
    writer: new FramedWriter(),
    pieces: [] as Buffer[],
  }));
  const writers = ranges.map(({ writer }) => writer);
  const cutGroups = createCutGroups(writers, hash);
  let bytes = 0;
  for (const message of messages) {
    bytes += message.groups.length;
    if (bytes > TURN_BYTES) {
      bytes = 0;
      await nextTurn();
    }
    cutGroups(headOf(message), message.groups);
    for (const { writer, pieces } of ranges) {
      writer.endMessage();
      if (writer.size > PIECE_BYTES) pieces.push(writer.take());
    }
  }
  for (const { writer, pieces } of ranges) if (writer.size > 0) pieces.push(writer.take());
  return ranges.map(({ pieces }) => pieces);
}

/** Writes the devices of each range with the writer of that range. */
function createCutGroups(writers: FramedWriter[], hash: DeviceHash) {
  const counts = new Uint32Array(RANGES);
  const places = new Uint32Array(RANGES);
  let words = new Uint32Array(0);
  let rangeOfEach = new Uint8Array(0);
  return (head: Buffer, groups: Buffer): void =>
    eachGroup(groups, (start, end, at, devices) => {
      if (devices > rangeOfEach.length) {
        words = new Uint32Array(devices * WORDS);
        rangeOfEach = new Uint8Array(devices);
      }
      copyDevices(groups, at, devices, new Uint8Array(words.buffer), 0);
      for (let n = 0; n < devices; n++) {
        rangeOfEach[n] = rangeOf(hash(words, n * WORDS));
        counts[rangeOfEach[n]!]!++;
      }
      for (let n = 0; n < devices; n++) {
        const range = rangeOfEach[n]!;
        const writer = writers[range]!;
        if (counts[range]! > 0) {
          places[range] = writer.add(head, groups, start, end, counts[range]!);
          counts[range] = 0;
        }
        copyDevices(groups, at + n * IDENTIFIER_BYTES, 1, writer.bytes, places[range]!);
        places[range]! += IDENTIFIER_BYTES;
      }
    });
}
