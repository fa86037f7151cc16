/**
 * A hand-written codec for ValidatedDevices, byte for byte standard Avro (a test compares it with avsc): the devices of a group are
 * one contiguous block of bytes, so that a million of them cost one copy and no objects.
 */

import { SLOTS, type ValidatedDevices } from '../../schemas/topics.ts';
import { AvroReader, AvroWriter } from './avro-bytes.ts';
import { varintLength } from './varint.ts';

const DEVICE = 16;

type Groups = ValidatedDevices['groups'];

/** Of an array with a single block, or none. */
const countLength = (count: number) => (count > 0 ? varintLength(count) : 0) + 1;

function groupsLength(groups: Groups): number {
  let size = countLength(groups.length);
  for (const { key, devices } of groups) {
    const keyBytes = Buffer.byteLength(key);
    size += varintLength(keyBytes) + keyBytes + countLength(devices.length / DEVICE) + devices.length;
  }
  return size;
}

function writeGroups(writer: AvroWriter, groups: Groups): void {
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
}

export function encodeDevices(header: Buffer, message: ValidatedDevices): Buffer {
  const { job, file, batch, slot, part, groups, more = [] } = message;
  const numbers = [job, file, batch, slot, part];
  let size = numbers.reduce((sum, number) => sum + varintLength(number), groupsLength(groups));
  size += countLength(more.length);
  for (const other of more)
    size += varintLength(other.file) + varintLength(other.batch) + groupsLength(other.groups);
  const writer = new AvroWriter(header, size);
  for (const number of numbers) writer.long(number);
  writeGroups(writer, groups);
  if (more.length > 0) writer.long(more.length);
  for (const other of more) {
    writer.long(other.file);
    writer.long(other.batch);
    writeGroups(writer, other.groups);
  }
  writer.long(0);
  return writer.bytes;
}

function readGroups(reader: AvroReader): Groups {
  const groups: Groups = [];
  reader.blocks((count) => {
    for (let i = 0; i < count; i++) {
      const key = reader.string();
      const parts: Buffer[] = [];
      reader.blocks((devices) => parts.push(reader.raw(devices * DEVICE)));
      groups.push({ key, devices: parts.length === 1 ? parts[0]! : Buffer.concat(parts) });
    }
  });
  return groups;
}

const natural = (number: number): number => {
  if (number < 0) throw new Error('a number is out of range');
  return number;
};

/** The devices are views into `body`: copy what you keep. The first version of the schema has one batch a message. */
export function decodeDevices(body: Buffer, { hasMore }: { hasMore: boolean }): ValidatedDevices {
  const reader = new AvroReader(body);
  const message: ValidatedDevices = {
    job: natural(reader.long()),
    file: natural(reader.long()),
    batch: natural(reader.long()),
    slot: natural(reader.long()),
    part: natural(reader.long()),
    groups: readGroups(reader),
  };
  if (message.slot >= SLOTS) throw new Error('a number is out of range');
  const more: NonNullable<ValidatedDevices['more']> = [];
  if (hasMore)
    reader.blocks((count) => {
      for (let i = 0; i < count; i++)
        more.push({
          file: natural(reader.long()),
          batch: natural(reader.long()),
          groups: readGroups(reader),
        });
    });
  reader.end();
  return more.length > 0 ? { ...message, more } : message;
}

/** Each batch of a shared message, as a message of its own. */
export function* batchesIn(message: ValidatedDevices): Generator<ValidatedDevices> {
  const { more = [], ...first } = message;
  yield first;
  for (const other of more) yield { ...first, ...other, part: 0 };
}
