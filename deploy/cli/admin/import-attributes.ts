/** `headrace admin attribute import`: many attributes from a CSV file. Safe to repeat after an interruption. */
import { readFileSync } from 'node:fs';
import { CsvError, parse } from 'csv-parse/sync';
import type { ApiStores } from '../../../api/stores/api-stores.ts';
import { inGroups, within } from '../../../pipeline/runtime/in-groups.ts';
import { checkForeignKey, checkName, type NewAttribute } from '../../../pipeline/stores/attributes.ts';
import { ProvisioningError } from '../../../pipeline/stores/partners.ts';
import type { AttributeDocument } from '../../../schemas/documents.ts';

const AT_ONCE = 1_000;
const MAX_SHOWN = 10;
const headers = ['name', 'attribute', 'attribute_name'];

interface Line extends NewAttribute {
  line: number;
}

const csv = { bom: true, skip_empty_lines: true, relax_column_count: true, info: true } as const;

function readRows(path: string): { record: string[]; info: { lines: number } }[] {
  try {
    return parse(readFileSync(path === '-' ? process.stdin.fd : path), csv) as never;
  } catch (error) {
    if (error instanceof CsvError || (error as NodeJS.ErrnoException).syscall !== undefined)
      throw new ProvisioningError('bad_argument', `cannot read ${path}: ${(error as Error).message}`);
    throw error;
  }
}

/** Reads the file; throws if a line is invalid. */
function readAttributes(path: string): Line[] {
  const lines: Line[] = [];
  const problems: string[] = [];
  const seen = new Map<string, number>();
  for (const [index, { record, info }] of readRows(path).entries()) {
    const [name = '', foreignKey = '', ...others] = record;
    if (index === 0 && headers.includes(name.toLowerCase())) continue;
    const { lines: line } = info;
    try {
      if (others.length > 0)
        throw new ProvisioningError('bad_argument', 'expected two columns: name and foreign key');
      checkName(name);
      if (foreignKey !== '') checkForeignKey(foreignKey);
      const before = foreignKey === '' ? undefined : seen.get(foreignKey);
      if (before !== undefined)
        throw new ProvisioningError('foreign_key_taken', `line ${before} has the same foreign key`);
      seen.set(foreignKey, line);
      lines.push({ line, name, foreignKey: foreignKey === '' ? undefined : foreignKey });
    } catch (error) {
      if (!(error instanceof ProvisioningError)) throw error;
      problems.push(`line ${line}: ${error.message}`);
    }
  }
  refuse(problems);
  return lines;
}

function refuse(problems: string[]): void {
  if (problems.length === 0) return;
  const more = problems.length - MAX_SHOWN;
  const shown = problems.slice(0, MAX_SHOWN);
  if (more > 0) shown.push(`and ${more} more`);
  throw new ProvisioningError('bad_argument', ['nothing was created:', ...shown].join('\n  '));
}

/** Existing attributes by foreign key. A key of an attribute with another name is an error. */
async function existing({ attributes }: ApiStores, partner: string, lines: Line[]) {
  const found = new Map<string, AttributeDocument>();
  const problems: string[] = [];
  const named = lines.filter(({ foreignKey }) => foreignKey !== undefined);
  for (const some of inGroups(named, within({ count: AT_ONCE }))) {
    const keys = some.map(({ foreignKey }) => foreignKey!);
    for (const one of await attributes.withForeignKeys(partner, keys)) found.set(one.foreignKey!, one);
  }
  for (const { line, name, foreignKey } of named) {
    const other = found.get(foreignKey!);
    if (other?.deletedSequence !== undefined)
      problems.push(
        `line ${line}: attribute ${other._id}, which was deleted, had the foreign key ${foreignKey}`,
      );
    else if (other && other.name !== name)
      problems.push(`line ${line}: attribute ${other._id} (${other.name}) has the foreign key ${foreignKey}`);
  }
  refuse(problems);
  return found;
}

interface ImportedAttributes {
  created: AttributeDocument[];
  existing: AttributeDocument[];
}

export async function importAttributes(
  stores: ApiStores,
  partner: string,
  path: string,
  isPrivate?: boolean,
): Promise<ImportedAttributes> {
  await stores.partners.find(partner);
  const lines = readAttributes(path);
  const there = await existing(stores, partner, lines);
  const missing = lines.filter(({ foreignKey }) => foreignKey === undefined || !there.has(foreignKey));
  const created: AttributeDocument[] = [];
  for (const some of inGroups(missing, within({ count: AT_ONCE })))
    created.push(
      ...(await stores.attributes.createAll(
        partner,
        some.map((one) => ({ ...one, isPrivate })),
      )),
    );
  return { created, existing: [...there.values()] };
}
