/** `headrace admin attribute import`: creates attributes from a CSV file. Safe to repeat after an interruption. */
import { readFileSync } from 'node:fs';
import { CsvError, parse } from 'csv-parse/sync';
import { count } from '../../../api/client/format.ts';
import type { ApiStores } from '../../../api/stores/api-stores.ts';
import { detectDelimiter } from '../../../pipeline/formats/head.ts';
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

interface Row {
  record: string[];
  raw: string;
  info: { lines: number };
}
const csv = { bom: true, skip_empty_lines: true, relax_column_count: true, info: true, raw: true } as const;

const bad = (message: string) => new ProvisioningError('bad_argument', message);
const delimiterNames: Record<string, string> = { ',': 'comma', '\t': 'tab', ';': 'semicolon', '|': 'pipe' };
/** A header with an unsupported delimiter. */
const oddHeader = /^(?:name|attribute|attribute_name)[^\w,;|\t]+(?:partner_)?(?:foreign_?)?key$/i;

/** As in data files, the first line decides. */
function delimiterOf(bytes: Buffer): string {
  const text = bytes
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .trimStart();
  const [first = ''] = text.split(/\r?\n/, 1);
  if (oddHeader.test(first.trimEnd()))
    throw bad(`unknown delimiter in ${first}: separate columns by comma, tab, semicolon or pipe`);
  const line = Buffer.from(first);
  return String.fromCharCode(detectDelimiter(line, 0, line.length));
}

/** Otherwise a line with a different delimiter would become one long name. */
function checkDelimiter({ record: [name = ''], raw }: Row, delimiter: string): void {
  const other = Object.keys(delimiterNames).find((each) => each !== delimiter && name.includes(each));
  if (other !== undefined && !raw.trimStart().startsWith('"'))
    throw bad(
      `contains a ${delimiterNames[other]}, but columns are separated by ${delimiterNames[delimiter]}: quote the name`,
    );
}

function readRows(path: string): { rows: Row[]; delimiter: string } {
  try {
    const bytes = readFileSync(path === '-' ? process.stdin.fd : path);
    const delimiter = delimiterOf(bytes);
    return { rows: parse(bytes, { ...csv, delimiter }) as never, delimiter };
  } catch (error) {
    if (error instanceof CsvError || (error as NodeJS.ErrnoException).syscall !== undefined)
      throw bad(`cannot read ${path}: ${(error as Error).message}`);
    throw error;
  }
}

/** Reads the file; throws if a line is invalid. */
function readAttributes(path: string): Line[] {
  const lines: Line[] = [];
  const problems: string[] = [];
  const seen = new Map<string, number>();
  const { rows, delimiter } = readRows(path);
  for (const [index, row] of rows.entries()) {
    const [name = '', foreignKey = '', ...others] = row.record;
    if (index === 0 && headers.includes(name.toLowerCase())) continue;
    const { lines: line } = row.info;
    try {
      if (others.length > 0) throw bad('expected two columns: name and foreign key');
      checkDelimiter(row, delimiter);
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
  if (more > 0) shown.push(`and ${count(more)} more`);
  throw bad(['nothing was created:', ...shown].join('\n  '));
}

/** Existing attributes by foreign key. It is an error if the names differ. */
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

/** Duplicate names are allowed, but usually a mistake, such as importing a file without foreign keys twice. */
function duplicates(missing: Line[], known: readonly AttributeDocument[]): string[] {
  const seen = new Map(known.map(({ _id, name }) => [name, `attribute ${_id}`]));
  const found: string[] = [];
  for (const { line, name } of missing) {
    const other = seen.get(name);
    if (other === undefined) seen.set(name, `line ${line}`);
    else found.push(`line ${line}: ${other} has the same name, ${name}`);
  }
  return found;
}

interface ImportedAttributes {
  created: AttributeDocument[];
  existing: AttributeDocument[];
  warnings: string[];
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
  const warnings = duplicates(missing, await stores.attributes.list(partner));
  const created: AttributeDocument[] = [];
  for (const some of inGroups(missing, within({ count: AT_ONCE })))
    created.push(
      ...(await stores.attributes.createAll(
        partner,
        some.map((one) => ({ ...one, isPrivate })),
      )),
    );
  return { created, existing: [...there.values()], warnings };
}
