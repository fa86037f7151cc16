/**
 * A hand-written codec for ValidatedDevices, byte for byte standard Avro (a test compares it with avsc): the devices of a group are
 * one contiguous block of bytes, so that a million of them cost one copy and no objects.
 */

import { SLOTS, type ValidatedDevices } from '../../schemas/topics.ts';
import { AvroReader, AvroWriter } from './avro-bytes.ts';
import { varintLength } from './varint.ts';

const DEVICE = 16;

export function encodeDevices(header: Buffer, message: ValidatedDevices): Buffer {
  const { job, file, batch, slot, part, groups } = message;
  const numbers = [job, file, batch, slot, part];
  let size = numbers.reduce((sum, number) => sum + varintLength(number), 1);
  if (groups.length > 0) size += varintLength(groups.length);
  for (const { key, devices } of groups) {
    const keyBytes = Buffer.byteLength(key);
    const count = devices.length / DEVICE;
    size += varintLength(keyBytes) + keyBytes + 1 + (count > 0 ? varintLength(count) + devices.length : 0);
  }
  const writer = new AvroWriter(header, size);
  for (const number of numbers) writer.long(number);
  if (groups.length > 0) writer.long(groups.length);
  for (const { key, devices } of groups) {
    writer.string(key);
    if (devices.length > 0) {
      writer.long(devices.length / DEVICE);
      writer.raw(devices);
    }
    writer.long(0);
  }
  writer.long(0);
  return writer.bytes;
}

/** The devices are views into `body`: copy what you keep. */
export function decodeDevices(body: Buffer): ValidatedDevices {
  const reader = new AvroReader(body);
  const job = reader.long();
  const file = reader.long();
  const batch = reader.long();
  const slot = reader.long();
  const part = reader.long();
  if (Math.min(job, file, batch, slot, part) < 0 || slot >= SLOTS)
    throw new Error('a number is out of range');
  const groups: ValidatedDevices['groups'] = [];
  reader.blocks((count) => {
    for (let i = 0; i < count; i++) {
      const key = reader.string();
      const parts: Buffer[] = [];
      reader.blocks((devices) => parts.push(reader.raw(devices * DEVICE)));
      groups.push({ key, devices: parts.length === 1 ? parts[0]! : Buffer.concat(parts) });
    }
  });
  reader.end();
  return { job, file, batch, slot, part, groups };
}
