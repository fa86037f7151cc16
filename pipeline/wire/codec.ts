/** Avro in the Confluent wire format: a zero byte, a four-byte schema id, the value. */
import avro from 'avsc';
import type { Version } from '../../schemas/avro-types.ts';
import { type MessageName, type MessageTypes, messages, versionsOf } from '../../schemas/topics.ts';
import { checkAvro } from './avro-check.ts';
import { decodeDevices, encodeDevices } from './devices-codec.ts';
import { decodeRowBatch, encodeRowBatch } from './rows-codec.ts';

export const HEADER = 5;
const names = Object.keys(messages) as MessageName[];
const types = Object.fromEntries(
  names.map((name) => [name, avro.Type.forSchema(messages[name].schema)]),
) as Record<MessageName, avro.Type>;
const readers = new Map(
  names.flatMap((name) => versionsOf(name).map((version) => [version.id, readerOf(name, version)])),
);

interface Reader {
  name: MessageName;
  read(body: Buffer): unknown;
}

function readerOf(name: MessageName, { schema }: Version): Reader {
  if (name === 'ValidatedDevices') return { name, read: decodeDevices };
  if (name === 'RowBatch') return { name, read: decodeRowBatch };
  const resolver = types[name].createResolver(avro.Type.forSchema(schema));
  return {
    name,
    read(body) {
      checkAvro(schema, body);
      return types[name].fromBuffer(body, resolver);
    },
  };
}

/** A message that violates its schema. It goes to the dead-letter topic, and the partition continues. */
export class MalformedMessage extends Error {
  readonly code = 'malformed_message';
}

export type Decoded = { [N in MessageName]: { name: N; value: MessageTypes[N] } }[MessageName];

export function wireHeader(name: MessageName): Buffer {
  const header = Buffer.alloc(HEADER);
  header.writeInt32BE(messages[name].id, 1);
  return header;
}

export function encode<N extends MessageName>(name: N, value: MessageTypes[N]): Buffer {
  const header = wireHeader(name);
  // These two are most of the traffic: an object per device or a copy of the rows would cost more than everything else.
  if (name === 'ValidatedDevices') return encodeDevices(header, value as MessageTypes['ValidatedDevices']);
  if (name === 'RowBatch') return encodeRowBatch(header, value as MessageTypes['RowBatch']);
  return Buffer.concat([header, types[name].toBuffer(value)]);
}

export function decode(bytes: Buffer | null, expected: readonly MessageName[]): Decoded {
  if (bytes === null || bytes.length < HEADER || bytes[0] !== 0)
    throw new MalformedMessage('no wire-format header');
  const id = bytes.readInt32BE(1);
  const reader = readers.get(id);
  if (reader === undefined || !expected.includes(reader.name))
    throw new MalformedMessage(`schema id ${id} does not belong here`);
  const { name, read } = reader;
  try {
    return { name, value: read(bytes.subarray(HEADER)) } as Decoded;
  } catch (cause) {
    throw new MalformedMessage(`not a valid ${name}: ${(cause as Error).message}`, { cause });
  }
}
