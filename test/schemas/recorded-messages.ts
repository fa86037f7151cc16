/**
 * Messages recorded with every version of every schema, in test/schemas/recorded: `<id>-<record>.avsc` is the schema as published
 * without its documentation, `.full.bin` and `.empty.bin` are messages as they were in Kafka. Recordings never change.
 *
 * Record a new version with `npx tsx test/schemas/recorded-messages.ts`.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import avro, { type Schema } from 'avsc';
import { type MessageName, messages, versionsOf } from '../../schemas/topics.ts';

export interface Recorded {
  id: number;
  name: MessageName;
  schema: Schema;
  /** In the wire format: header and value. */
  messages: Buffer[];
}

export const HEADER = 5;
const fills = ['full', 'empty'] as const;
type Fill = (typeof fills)[number];
const directory = fileURLToPath(new URL('recorded/', import.meta.url));

export function readRecorded(): Recorded[] {
  const read = (file: string) => readFileSync(join(directory, file));
  return readdirSync(directory)
    .filter((file) => file.endsWith('.avsc'))
    .map((file) => {
      const [, id, name] = /^(\d+)-(\w+)\.avsc$/.exec(file)!;
      return {
        id: Number(id),
        name: name as MessageName,
        schema: JSON.parse(read(file).toString()),
        messages: fills.map((fill) => read(`${id}-${name}.${fill}.bin`)),
      };
    })
    .sort((a, b) => a.id - b.id);
}

/** Documentation may change; everything else in a published schema stays. */
export const withoutDocs = (schema: Schema): Schema =>
  JSON.parse(JSON.stringify(schema, (key, value) => (key === 'doc' ? undefined : value)));

/** A value of the type with every field filled, or with as little as possible. */
function sampleOf(type: avro.Type, fill: Fill): unknown {
  const isFull = fill === 'full';
  if (type instanceof avro.types.RecordType)
    return Object.fromEntries(type.fields.map((field) => [field.name, sampleOf(field.type, fill)]));
  if (type instanceof avro.types.ArrayType)
    return isFull ? [sampleOf(type.itemsType, 'full'), sampleOf(type.itemsType, 'empty')] : [];
  if (type instanceof avro.types.EnumType) return type.symbols.at(isFull ? -1 : 0);
  if (type instanceof avro.types.FixedType) return Buffer.alloc(type.size, isFull ? 0xa5 : 0);
  if (type instanceof avro.types.UnwrappedUnionType) return sampleOf(type.types.at(isFull ? -1 : 0)!, fill);
  const primitives: Record<string, [full: unknown, empty: unknown]> = {
    null: [null, null],
    boolean: [true, false],
    int: [7, 0],
    long: [1_762_000_000_123, 0],
    string: ['Größe, ✓', ''],
    bytes: [Buffer.from([0, 127, 128, 255]), Buffer.alloc(0)],
  };
  return primitives[type.typeName]![isFull ? 0 : 1];
}

/** One message with every field filled, and one with as little as possible. */
export function messagesOf({ id, schema }: { id: number; schema: Schema }): Buffer[] {
  const type = avro.Type.forSchema(schema);
  const header = Buffer.alloc(HEADER);
  header.writeInt32BE(id, 1);
  return fills.map((fill) => Buffer.concat([header, type.toBuffer(sampleOf(type, fill))]));
}

function record(): void {
  mkdirSync(directory, { recursive: true });
  for (const name of Object.keys(messages) as MessageName[])
    for (const { id, schema } of versionsOf(name)) {
      const place = join(directory, `${id}-${name}`);
      if (existsSync(`${place}.avsc`)) continue;
      for (const [n, message] of messagesOf({ id, schema }).entries())
        writeFileSync(`${place}.${fills[n]}.bin`, message);
      writeFileSync(`${place}.avsc`, `${JSON.stringify(withoutDocs(schema))}\n`);
      process.stdout.write(`recorded ${place}\n`);
    }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) record();
