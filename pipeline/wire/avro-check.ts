/**
 * Walks the bytes by their schema and throws if they do not match. avsc detects reading past the buffer only at the end: a forged array of
 * 2^40 items would keep it busy for hours.
 */
import { AvroReader } from './avro-bytes.ts';

type Schema =
  | string
  | Schema[]
  | {
      type: Schema;
      fields?: { type: Schema }[];
      items?: Schema;
      symbols?: string[];
      size?: number;
    };

export function checkAvro(schema: unknown, bytes: Buffer): void {
  const reader = new AvroReader(bytes);
  walk(schema as Schema, reader);
  reader.end();
}

function walk(schema: Schema, reader: AvroReader): void {
  if (Array.isArray(schema)) walkBranch(schema, reader);
  else if (typeof schema === 'object') walkNamed(schema, reader);
  else if (schema === 'boolean') reader.raw(1);
  else if (schema === 'int' || schema === 'long') reader.long();
  else if (schema === 'string' || schema === 'bytes') reader.raw(reader.long());
  else if (schema !== 'null') throw new Error(`unsupported Avro type ${schema}`);
}

function walkBranch(branches: Schema[], reader: AvroReader): void {
  const branch = branches[reader.long()];
  if (branch === undefined) throw new Error('invalid union branch');
  walk(branch, reader);
}

function walkNamed(schema: Exclude<Schema, string | Schema[]>, reader: AvroReader): void {
  if (schema.type === 'record') for (const field of schema.fields!) walk(field.type, reader);
  else if (schema.type === 'array') {
    for (let count = reader.block(); count > 0; count = reader.block()) {
      // Every item takes at least one byte.
      if (count > reader.left) throw new Error('truncated');
      for (let i = 0; i < count; i++) walk(schema.items!, reader);
    }
  } else if (schema.type === 'enum') {
    if (schema.symbols![reader.long()] === undefined) throw new Error('invalid enum symbol');
  } else if (schema.type === 'fixed') reader.raw(schema.size!);
  else walk(schema.type, reader);
}
