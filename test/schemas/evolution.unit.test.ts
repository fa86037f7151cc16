/**
 * Schema evolution: messages recorded with every version can be read by the service and by every other version. Consumers, replays
 * and rolling upgrades rely on it.
 */
import avro, { type Schema } from 'avsc';
import { describe, expect, it } from 'vitest';
import { decode } from '../../pipeline/wire/codec.ts';
import { decodeGroups } from '../../pipeline/wire/device-groups.ts';
import { type MessageName, messages, versionsOf } from '../../schemas/topics.ts';
import { HEADER, messagesOf, type Recorded, readRecorded, withoutDocs } from './recorded-messages.ts';

const names = Object.keys(messages) as MessageName[];
const recorded = readRecorded();
const of = (name: MessageName) => recorded.filter((each) => each.name === name);
type Value = Record<string, unknown>;
interface Field {
  name: string;
  type: unknown;
  default?: unknown;
}
const fieldsOf = (schema: Schema) => (schema as unknown as { fields: Field[] }).fields;

/** As JSON, so that avsc's values and our codec's can be compared: bytes in hex, encoded groups as objects. */
function plain(value: unknown): unknown {
  if (ArrayBuffer.isView(value)) return Buffer.from(value as Uint8Array).toString('hex');
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      key === 'devices' && ArrayBuffer.isView(member)
        ? devicesIn(plain(member) as string)
        : plain(groupsIn(key, member)),
    ]),
  );
}
const groupsIn = (key: string, member: unknown) =>
  key === 'groups' && ArrayBuffer.isView(member) ? decodeGroups(member as Buffer) : member;
const devicesIn = (hex: string) => hex.match(/.{32}/g) ?? [];

const read = ({ schema }: Pick<Recorded, 'schema'>, message: Buffer): Value =>
  plain(avro.Type.forSchema(schema).fromBuffer(message.subarray(HEADER))) as Value;

/** What a reader must see: the writer's values of the fields that it knows, and defaults for the others. */
function expected(writer: Recorded, reader: Schema, message: Buffer): Value {
  const written = read(writer, message);
  const fields = fieldsOf(reader).map((field) => [field.name, written[field.name] ?? field.default ?? null]);
  return Object.fromEntries(fields);
}

function readAs(writer: Recorded, reader: Schema, message: Buffer): Value {
  const type = avro.Type.forSchema(reader);
  const resolver = type.createResolver(avro.Type.forSchema(writer.schema));
  return plain(type.fromBuffer(message.subarray(HEADER), resolver)) as Value;
}

describe.each(names)('%s', (name) => {
  it('is recorded in every version, and none was changed or taken back', () => {
    const published = of(name).map(({ id, schema }) => [id, schema]);
    const declared = versionsOf(name).map(({ id, schema }) => [id, withoutDocs(schema)]);
    expect(declared, 'npx tsx test/schemas/recorded-messages.ts records a new version').toEqual(published);
  });

  it('of every version is read by the service', () => {
    for (const writer of of(name))
      for (const message of writer.messages) {
        const newest = messages[name].schema as Schema;
        const { name: found, value } = decode(message, names);
        // The service leaves out what it does not share with other batches.
        const seen = { ...(name === 'ValidatedDevices' ? { more: [] } : {}), ...(plain(value) as Value) };
        expect([writer.id, found, seen]).toEqual([writer.id, name, expected(writer, newest, message)]);
      }
  });

  it('of every version is read with every other version', () => {
    for (const writer of of(name))
      for (const reader of versionsOf(name))
        for (const message of writer.messages)
          expect([writer.id, reader.id, readAs(writer, reader.schema, message)]).toEqual([
            writer.id,
            reader.id,
            expected(writer, reader.schema, message),
          ]);
  });
});

describe('a change that breaks readers is noticed', () => {
  const [status] = of('JobStatusChanged') as [Recorded];
  const changed = (change: (fields: Field[]) => Field[]): Schema =>
    ({ ...(status.schema as object), fields: change(structuredClone(fieldsOf(status.schema))) }) as Schema;
  const everyVersionReads = (schema: Schema) => {
    const next = { ...status, schema, messages: messagesOf({ ...status, schema }) };
    for (const [writer, reader] of [[status, next] as const, [next, status] as const])
      for (const message of writer.messages)
        expect(readAs(writer, reader.schema, message)).toEqual(expected(writer, reader.schema, message));
  };
  const replace = (name: string, type: unknown) => (fields: Field[]) =>
    fields.map((field) => (field.name === name ? { ...field, type } : field));
  const kindOf = (...symbols: string[]) => ({ type: 'enum', name: 'headrace.JobKind', symbols });

  it('a field with a default is none', () => {
    everyVersionReads(changed((fields) => [...fields, { name: 'added', type: 'int', default: 0 }]));
  });

  it.each<[string, (fields: Field[]) => Field[]]>([
    ['a field without a default', (fields) => [...fields, { name: 'added', type: 'int' }]],
    ['a field taken away', (fields) => fields.filter(({ name }) => name !== 'partner')],
    [
      'a field renamed',
      (fields) => fields.map((field) => (field.name === 'rows' ? { ...field, name: 'added' } : field)),
    ],
    ['another type', replace('rows', 'string')],
    ['a wider type, which older readers cannot read', replace('status', 'long')],
    [
      'a new symbol, which older readers do not know',
      replace('kind', kindOf('import', 'delete', 'audience', 'added')),
    ],
    ['a symbol taken away', replace('kind', kindOf('import', 'delete'))],
  ])('%s is one', (_, change) => {
    const next = changed(change);
    expect(() => everyVersionReads(next)).toThrow();
  });
});
