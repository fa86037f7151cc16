/** Cuts messages of a slot by address range: a slot that is too large for one merge is merged range by range. */
import type { ValidatedDevices } from '../../schemas/topics.ts';
import { nextTurn } from '../runtime/loop-turn.ts';
import { copyDevices, eachGroup } from '../wire/device-groups.ts';
import { FramedWriter, headOf } from '../wire/framed-devices.ts';
import type { DeviceHash } from './device-hash.ts';
import { ADDRESS_BITS, addressOf, IDENTIFIER_BYTES, WORDS } from './identifier.ts';

const RANGE_BITS = 6;
export const RANGES = 2 ** RANGE_BITS;

/** Messages, or the part of them in a range. */
export interface InRange {
  range: number;
  messages: Iterable<ValidatedDevices>;
}

/** Addresses `from` to `to`, exclusive. */
export interface Addresses {
  from: number;
  to: number;
}

/** One of several parts of a range, of similar size. */
export function partOfRange(range: number, part: number, parts: number): Addresses {
  const size = 2 ** (ADDRESS_BITS - RANGE_BITS);
  const startOf = (n: number) => range * size + Math.floor((n * size) / parts);
  return { from: startOf(part), to: startOf(part + 1) };
}

const rangeOf = (hash: number) => addressOf(hash) >>> (ADDRESS_BITS - RANGE_BITS);

/** A longer piece is not extended. */
const PIECE_BYTES = 64_000;
/** Takes a few milliseconds to cut. */
const TURN_BYTES = 500_000;

/** The messages of each range, framed, with only their devices in the range; messages without any are omitted. */
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

/** Distributes devices to the writers of their ranges. */
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
