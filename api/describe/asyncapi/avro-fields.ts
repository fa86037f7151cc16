/** The fields of a message as table rows: fields of nested records follow their parent. */
import { type MessageName, messages, versionsOf } from '../../../schemas/topics.ts';

interface DescribedField {
  /** `groups[].key` for a field of the records in an array. */
  path: string;
  type: string;
  meaning: string;
  /** The version that added it, unless the first. */
  since?: number;
}

interface AvroField {
  name: string;
  type: AvroType;
  doc?: string;
}
interface Complex {
  type: string;
  name?: string;
  logicalType?: string;
  symbols?: string[];
  items?: AvroType;
  fields?: AvroField[];
}
type AvroType = string | AvroType[] | Complex;

const logical: Record<string, string> = {
  uuid: 'UUID, 16 bytes',
  'timestamp-millis': 'long, milliseconds since 1970',
};

export function typeName(type: AvroType): string {
  if (Array.isArray(type))
    return `${type
      .filter((each) => each !== 'null')
      .map(typeName)
      .join(' or ')} or null`;
  if (typeof type === 'string') return type.replace('headrace.', '');
  if (type.type === 'array') return `array of ${typeName(type.items!)}`;
  if (type.type === 'enum') return type.symbols!.join(' | ');
  return logical[type.logicalType ?? ''] ?? type.name ?? type.type;
}

/** The record inside a type, if its fields are declared here, and the path into it. */
function recordIn(type: AvroType, path: string): [Complex, string] | undefined {
  if (Array.isArray(type)) return type.map((each) => recordIn(each, path)).find((found) => found);
  if (typeof type === 'string') return undefined;
  if (type.type === 'array') return recordIn(type.items!, `${path}[]`);
  return type.fields ? [type, path] : undefined;
}

function* fieldsIn(fields: AvroField[], within = ''): Generator<DescribedField> {
  for (const { name, type, doc = '' } of fields) {
    const path = within + name;
    yield { path, type: typeName(type), meaning: doc };
    const inner = recordIn(type, path);
    if (inner) yield* fieldsIn(inner[0].fields!, `${inner[1]}.`);
  }
}

const topFields = (schema: unknown) => (schema as Complex).fields!;

export function fieldsOf(name: MessageName): DescribedField[] {
  const versions = versionsOf(name).map(
    ({ schema }) => new Set(topFields(schema).map((field) => field.name)),
  );
  return [...fieldsIn(topFields(messages[name].schema))].map((field) => {
    const top = field.path.split(/[[.]/)[0]!;
    const since = versions.findIndex((known) => known.has(top)) + 1;
    return since > 1 ? { ...field, since } : field;
  });
}
