/** Avro in the Confluent wire format: a zero byte, the schema's id in four bytes, the value. */
import avro from 'avsc';
import { checkAvro } from './avro-check.ts';
import { decodeDevices, encodeDevices } from './devices-codec.ts';
import { decodeRowBatch, encodeRowBatch } from './rows-codec.ts';
import { type MessageName, type MessageTypes, messages } from './topics.ts';

const HEADER = 5;
const names = Object.keys(messages) as MessageName[];
const types = Object.fromEntries(
  names.map((name) => [name, avro.Type.forSchema(messages[name].schema)]),
) as Record<MessageName, avro.Type>;
interface Version {
  name: MessageName;
  schema: avro.Schema;
  read(body: Buffer): unknown;
}
const byId = new Map(names.flatMap((name) => versionsOf(name).map((version) => [version.id, version])));

function versionsOf(name: MessageName): (Version & { id: number })[] {
  const message: { id: number; schema: avro.Schema; earlier?: { id: number; schema: avro.Schema }[] } =
    messages[name];
  return [...(message.earlier ?? []), message].map(({ id, schema }) => {
    const type = avro.Type.forSchema(schema);
    const resolver = types[name].createResolver(type);
    return { id, name, schema, read: (body) => types[name].fromBuffer(body, resolver) };
  });
}

/** A message that does not follow the contract. It goes to the dead letters, and the partition goes on. */
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
  // These two are most of what flows: an object a device, or a copy of the rows, would cost more than all the rest.
  if (name === 'ValidatedDevices') return encodeDevices(header, value as MessageTypes['ValidatedDevices']);
  if (name === 'RowBatch') return encodeRowBatch(header, value as MessageTypes['RowBatch']);
  return Buffer.concat([header, types[name].toBuffer(value)]);
}

function decodeBody({ name, schema, read }: Version, id: number, body: Buffer): unknown {
  if (name === 'ValidatedDevices') return decodeDevices(body);
  if (name === 'RowBatch') return decodeRowBatch(body, { hasAttempt: id === messages.RowBatch.id });
  checkAvro(schema, body);
  return read(body);
}

export function decode(bytes: Buffer | null, expected: readonly MessageName[]): Decoded {
  if (bytes === null || bytes.length < HEADER || bytes[0] !== 0)
    throw new MalformedMessage('no wire-format header');
  const id = bytes.readInt32BE(1);
  const version = byId.get(id);
  if (version === undefined || !expected.includes(version.name))
    throw new MalformedMessage(`schema id ${id} does not belong here`);
  const { name } = version;
  try {
    return { name, value: decodeBody(version, id, bytes.subarray(HEADER)) } as Decoded;
  } catch (cause) {
    throw new MalformedMessage(`not a valid ${name}: ${(cause as Error).message}`, { cause });
  }
}

/** The Avro type itself, for readers and tests. */
export const avroType = (name: MessageName): avro.Type => types[name];
