/** A hand-written codec for ValidatedDevices, byte for byte standard Avro (a test compares it with avsc): groups stay as they are. */

import { MAX_SLOTS, type ValidatedDevices } from '../../schemas/topics.ts';
import { AvroReader, AvroWriter } from './avro-bytes.ts';
import { readGroups } from './device-groups.ts';
import { varintLength } from './varint.ts';

export function encodeDevices(header: Buffer, message: ValidatedDevices): Buffer {
  const { job, file, batch, slot, part, groups, more = [] } = message;
  const numbers = [job, file, batch, slot, part];
  let size = numbers.reduce((sum, number) => sum + varintLength(number), groups.length + 1);
  if (more.length > 0) size += varintLength(more.length);
  for (const other of more)
    size += varintLength(other.file) + varintLength(other.batch) + other.groups.length;
  const writer = new AvroWriter(header, size);
  for (const number of numbers) writer.long(number);
  writer.raw(groups);
  if (more.length > 0) writer.long(more.length);
  for (const other of more) {
    writer.long(other.file);
    writer.long(other.batch);
    writer.raw(other.groups);
  }
  writer.long(0);
  return writer.bytes;
}

const natural = (number: number): number => {
  if (number < 0) throw new Error('a number is out of range');
  return number;
};

function groupsOf(reader: AvroReader): Buffer {
  const start = reader.at;
  readGroups(reader);
  return reader.bytes.subarray(start, reader.at);
}

const NO_GROUPS = Buffer.alloc(0);

/** The fields before the groups. */
export const readNumbers = (reader: AvroReader): ValidatedDevices => ({
  job: natural(reader.long()),
  file: natural(reader.long()),
  batch: natural(reader.long()),
  slot: natural(reader.long()),
  part: natural(reader.long()),
  groups: NO_GROUPS,
});

/** The groups are views into `body`: copy what you keep. */
export function decodeDevices(body: Buffer): ValidatedDevices {
  const reader = new AvroReader(body);
  const message = readNumbers(reader);
  message.groups = groupsOf(reader);
  if (message.slot >= MAX_SLOTS) throw new Error('a number is out of range');
  const more: NonNullable<ValidatedDevices['more']> = [];
  for (let count = reader.block(); count > 0; count = reader.block()) {
    for (let i = 0; i < count; i++)
      more.push({
        file: natural(reader.long()),
        batch: natural(reader.long()),
        groups: groupsOf(reader),
      });
  }
  reader.end();
  return more.length > 0 ? { ...message, more } : message;
}

/** Each batch of a shared message as a separate message. */
export function* batchesIn(message: ValidatedDevices): Generator<ValidatedDevices> {
  const { more = [], ...first } = message;
  yield first;
  for (const other of more) yield { ...first, ...other, part: 0 };
}
