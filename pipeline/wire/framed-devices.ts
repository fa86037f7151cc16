/**
 * Devices of a slot, spilled or cut for a merge: length-prefixed messages of one batch each, as in the topic but without the header. Groups
 * are written in place, because copying each part would cost more than the devices.
 */
import type { ValidatedDevices } from '../../schemas/topics.ts';
import { AvroReader } from './avro-bytes.ts';
import { endOfGroup, roomForGroup, writeGroup } from './device-groups.ts';
import { encodeDevices, readNumbers } from './devices-codec.ts';
import { writeVarint } from './varint.ts';

const LENGTH = 4;
/** The ends of two arrays: the groups, and further batches (none). */
const ENDS = Buffer.from([0, 0]);
const NONE = Buffer.alloc(0);

/** The fields before the groups, encoded. */
export const headOf = (message: ValidatedDevices): Buffer =>
  encodeDevices(NONE, { ...message, groups: NONE, more: [] }).subarray(0, -1);

export class FramedWriter {
  bytes = Buffer.allocUnsafe(1 << 12);
  size = 0;
  /** Offset of the message being written, or -1. */
  #start = -1;

  /** Returns the offset in `bytes` at which the devices of the group must be written. The first group starts a message. */
  add(head: Buffer, key: Uint8Array, start: number, end: number, devices: number): number {
    const room = LENGTH + head.length + roomForGroup(end - start, devices) + ENDS.length;
    if (this.size + room > this.bytes.length)
      this.bytes = Buffer.concat([this.bytes.subarray(0, this.size)], 2 * (this.size + room));
    if (this.#start < 0) {
      this.#start = this.size;
      this.bytes.set(head, this.size + LENGTH);
      this.size += LENGTH + head.length;
    }
    // One block per group, because the number of groups is not known yet.
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

  /** Returns a copy of what was written and resets the writer. */
  take(): Buffer {
    const taken = Buffer.from(this.bytes.subarray(0, this.size));
    this.size = 0;
    return taken;
  }
}

/** The groups are views and not decoded yet. */
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
