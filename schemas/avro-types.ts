/** Avro schemas as values that carry the TypeScript type they describe, so that a message is declared once. */
import type { Schema } from 'avsc';

/** `value` does not exist at run time: it only carries the type. */
export interface Avro<T> {
  schema: unknown;
  default?: unknown;
  doc?: string;
  value?: T;
}
type Fields = Record<string, Avro<unknown>>;
type ValuesOf<F extends Fields> = { [Name in keyof F]: Exclude<F[Name]['value'], undefined> };

const avro = <T>(schema: unknown): Avro<T> => ({ schema });
export const boolean = avro<boolean>('boolean');
export const int = avro<number>('int');
export const long = avro<number>('long');
export const millis = avro<number>({ type: 'long', logicalType: 'timestamp-millis' });
export const string = avro<string>('string');
export const bytes = avro<Buffer>('bytes');
export const uuid = (name: string) => avro<Buffer>({ type: 'fixed', name, size: 16, logicalType: 'uuid' });
/** Kept encoded in our code, as the bytes of the message. */
export const encoded = ({ schema }: Avro<unknown>) => avro<Buffer>(schema);
export const array = <T>({ schema }: Avro<T>) => avro<T[]>({ type: 'array', items: schema });
export const enumeration = <const Symbols extends readonly string[]>(name: string, symbols: Symbols) =>
  avro<Symbols[number]>({ type: 'enum', name, symbols });
/** A field of this type with its documentation. */
export const doc = <T>(type: Avro<T>, text: string): Avro<T> => ({ ...type, doc: text });
export const optional = <T>({ schema }: Avro<T>): Avro<T | null> => ({
  schema: ['null', schema],
  default: null,
});
export const record = <F extends Fields>(name: string, doc: string, fields: F) =>
  avro<ValuesOf<F>>({
    type: 'record',
    namespace: 'headrace',
    name,
    doc,
    fields: Object.entries(fields).map(([field, { schema, ...rest }]) => ({
      name: field,
      type: schema,
      ...rest,
    })),
  });

/** References a record that the schema already defines: Avro defines a name once. */
export const again = <T>({ schema }: Avro<T>): Avro<T> => {
  const { namespace, name } = schema as { namespace: string; name: string };
  return { schema: `${namespace}.${name}` };
};

export interface Version {
  id: number;
  schema: Schema;
}

/** A versioned schema: each version has its own id and adds fields to the previous one. */
export interface Message<F extends Fields = Fields> extends Version {
  earlier: Version[];
  fields: F;
  grow<G extends Fields>(id: number, added: G): Message<F & G>;
}
export type MessageValue<M extends Message> = ValuesOf<M['fields']>;

export function message<F extends Fields>(
  id: number,
  name: string,
  doc: string,
  fields: F,
  earlier: Version[] = [],
): Message<F> {
  const schema = record(name, doc, fields).schema as Schema;
  return {
    id,
    schema,
    earlier,
    fields,
    grow: (next, added) => message(next, name, doc, { ...fields, ...added }, [...earlier, { id, schema }]),
  };
}
