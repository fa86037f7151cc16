/**
 * Devices by key in Avro encoding: an array of groups, each a key and an array of devices. Written once after parsing and read in place
 * until the merge. With thousands of keys nearly every device is its own group, and an object per group would cost more than everything
 * else.
 */
import { AvroReader, AvroWriter } from './avro-bytes.ts';
import { varintLength, writeVarint } from './varint.ts';

const DEVICE = 16;
/** Maximum size of the numbers next to a key and its devices. */
const GROUP_OVERHEAD = 16;
/** Up to this many devices are copied faster byte by byte. */
const FEW = 4;

/** The key is `[start, end)` of the bytes; the devices begin at `at`. A group may come in several pieces. */
type OnDevices = (start: number, end: number, at: number, devices: number) => void;

export function readGroups(reader: AvroReader, onDevices?: OnDevices): void {
  for (let groups = reader.block(); groups > 0; groups = reader.block()) {
    for (let group = 0; group < groups; group++) {
      const length = reader.long();
      const start = reader.skip(length);
      for (let devices = reader.block(); devices > 0; devices = reader.block()) {
        const at = reader.skip(devices * DEVICE);
        onDevices?.(start, start + length, at, devices);
      }
    }
  }
}

export const eachGroup = (groups: Buffer, onDevices: OnDevices): void =>
  readGroups(new AvroReader(groups), onDevices);

export function copyDevices(
  source: Uint8Array,
  from: number,
  devices: number,
  target: Uint8Array,
  to: number,
): void {
  const end = from + devices * DEVICE;
  if (devices > FEW) target.set(source.subarray(from, end), to);
  else for (let at = from, place = to; at < end; at++) target[place++] = source[at]!;
}

export const roomForGroup = (key: number, devices: number): number => key + devices * DEVICE + GROUP_OVERHEAD;

/** Returns the offset at which its devices must be written. */
export function writeGroup(
  bytes: Buffer,
  to: number,
  key: Uint8Array,
  start: number,
  end: number,
  devices: number,
): number {
  let at = writeVarint(bytes, to, end - start);
  for (let from = start; from < end; from++) bytes[at++] = key[from]!;
  const place = devices > 0 ? writeVarint(bytes, at, devices) : at;
  bytes[place + devices * DEVICE] = 0;
  return place;
}

export const endOfGroup = (place: number, devices: number): number => place + devices * DEVICE + 1;

/** Writes arrays into a reused buffer. */
export class GroupWriter {
  bytes = Buffer.allocUnsafe(1 << 12);
  #at = 0;
  #groups = 0;

  /** Returns the offset in `bytes` at which the devices of the group must be written. */
  add(key: Uint8Array, start: number, end: number, devices: number): number {
    const needed = this.#at + roomForGroup(end - start, devices);
    if (needed > this.bytes.length) this.bytes = Buffer.concat([this.bytes], 2 * needed);
    const place = writeGroup(this.bytes, this.#at, key, start, end, devices);
    this.#at = endOfGroup(place, devices);
    this.#groups++;
    return place;
  }

  /** Returns a copy of the array and starts the next one. */
  take(): Buffer {
    const count = this.#groups;
    const writer = new AvroWriter(Buffer.alloc(0), count === 0 ? 1 : varintLength(count) + this.#at + 1);
    if (count > 0) writer.long(count);
    writer.raw(this.bytes.subarray(0, this.#at));
    writer.long(0);
    this.#at = 0;
    this.#groups = 0;
    return writer.bytes;
  }
}

export interface DeviceGroup {
  key: string;
  devices: Uint8Array;
}

/** Decodes to objects: for rare cases and display. */
export function decodeGroups(groups: Buffer): DeviceGroup[] {
  const reader = new AvroReader(groups);
  const objects: DeviceGroup[] = [];
  for (let count = reader.block(); count > 0; count = reader.block()) {
    for (let group = 0; group < count; group++) {
      const length = reader.long();
      const start = reader.skip(length);
      const pieces: Buffer[] = [];
      for (let devices = reader.block(); devices > 0; devices = reader.block()) {
        const at = reader.skip(devices * DEVICE);
        pieces.push(groups.subarray(at, at + devices * DEVICE));
      }
      const key = groups.toString('utf8', start, start + length);
      objects.push({ key, devices: pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces) });
    }
  }
  return objects;
}

export function encodeGroups(objects: Iterable<DeviceGroup>): Buffer {
  const writer = new GroupWriter();
  for (const { key, devices } of objects) {
    const name = Buffer.from(key);
    const place = writer.add(name, 0, name.length, devices.length / DEVICE);
    writer.bytes.set(devices, place);
  }
  return writer.take();
}
