/**
 * Devices of a slot that are spilled, or cut for a merge: messages of one batch each, as in the topic but for the header, each behind its
 * length. Groups are written as they come: a copy of each part would cost more than the devices.
 */
import type { ValidatedDevices } from '../../schemas/topics.ts';
import { AvroReader } from './avro-bytes.ts';
import { endOfGroup, roomForGroup, writeGroup } from './device-groups.ts';
import { encodeDevices, readNumbers } from './devices-codec.ts';
import { writeVarint } from './varint.ts';

const LENGTH = 4;
/** The ends of two arrays: the groups, and further batches, of which there are none. */
const ENDS = Buffer.from([0, 0]);
const NONE = Buffer.alloc(0);

/** What each part of a message begins with. */
export const headOf = (message: ValidatedDevices): Buffer =>
  encodeDevices(NONE, { ...message, groups: NONE, more: [] }).subarray(0, -1);

export class FramedWriter {
  bytes = Buffer.allocUnsafe(1 << 12);
  size = 0;
  /** Where the message that is being written begins. */
  #start = -1;

  /** Gives the place in `bytes` where the devices of the group must be written. The first group of a message begins it. */
  add(head: Buffer, key: Uint8Array, start: number, end: number, devices: number): number {
    const room = LENGTH + head.length + roomForGroup(end - start, devices) + ENDS.length;
    if (this.size + room > this.bytes.length)
      this.bytes = Buffer.concat([this.bytes.subarray(0, this.size)], 2 * (this.size + room));
    if (this.#start < 0) {
      this.#start = this.size;
      this.bytes.set(head, this.size + LENGTH);
      this.size += LENGTH + head.length;
    }
    // A block for each group: how many will come is not known.
    const place = writeGroup(this.bytes, writeVarint(this.bytes, this.size, 1), key, start, end, devices);
    this.size = endOfGroup(place, devices);
    return place;
  }

  endMessage(): void {
    if (this.#start < 0) return;
    this.bytes.set(ENDS, this.size);
    this.size += ENDS.length;
    this.bytes.writeUInt32BE(this.size - this.#start - LENGTH, this.#start);
    this.#start = -1;
  }

  /** A copy of what was written; the writer begins anew. */
  take(): Buffer {
    const taken = Buffer.from(this.bytes.subarray(0, this.size));
    this.size = 0;
    return taken;
  }
}

/** The groups are views: nothing but their place is known yet. */
export function* framedIn(bytes: Buffer): Generator<ValidatedDevices> {
  const reader = new AvroReader(bytes);
  while (reader.left > 0) {
    const length = bytes.readUInt32BE(reader.skip(LENGTH));
    const end = reader.at + length;
    const message = readNumbers(reader);
    message.groups = bytes.subarray(reader.at, end - 1);
    yield message;
    reader.at = end;
  }
}
