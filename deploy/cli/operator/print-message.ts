/** The output formats of `tap`: pretty, JSON and CSV. */
import { plural } from '../../../api/client/format.ts';
import {
  type Output,
  type Paint,
  paint,
  printable,
  printData,
  printJson,
  printLines,
} from '../../../pipeline/runtime/terminal.ts';
import type { Described } from './describe-message.ts';

export const formats = ['pretty', 'json', 'csv'] as const;
export type Format = (typeof formats)[number];

type Print = (message: Described) => Promise<void>;

export function createPrint(format: Format, output: Output): Print {
  if (format === 'json') return (message) => printJson(output, message);
  if (format === 'pretty') {
    const colours = paint(output);
    return (message) => printLines(output, prettyLines(message, colours));
  }
  let isFirst = true;
  return (message) => {
    const header = isFirst ? `${columns.join(',')}\n` : '';
    isFirst = false;
    return printData(output, header + csvLine(message));
  };
}

const columns = ['topic', 'partition', 'offset', 'at', 'key', 'type', 'job', 'value', 'error'] as const;
const quoted = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

function csvLine({ value, ...message }: Described): string {
  const cells: Record<string, unknown> = {
    ...message,
    job: value?.job,
    value: value && JSON.stringify(value),
  };
  return `${columns.map((column) => quoted(String(cells[column] ?? ''))).join(',')}\n`;
}

const MAX_WIDTH = 160;
const INDENT = '      ';

/** One line, followed by the rows or devices requested with --rows and --devices. */
function prettyLines(
  { topic, partition, offset, at, key, type, value = {}, error }: Described,
  colours: Paint,
): string[] {
  const place = `${topic}/${partition}@${offset}`;
  const fields = Object.entries(value)
    .filter(([name, field]) => !isLong(name, field) && !isNothing(field))
    .map(([name, field]) => `${colours.dim(`${name}=`)}${cut(shortForm(field))}`);
  const what =
    error === undefined ? colours.bold(type ?? '') : colours.red(`not decoded: ${printable(error)}`);
  const withKey = fields.length > 0 ? fields : [`${colours.dim('key=')}${printable(key ?? '')}`];
  const line = [
    colours.dim(at.replace('T', ' ').replace('Z', '')),
    colours.cyan(place),
    what,
    ...withKey,
  ].join('  ');
  return [line, ...longLines(value, colours)];
}

const isNothing = (field: unknown) =>
  field === null || field === '' || (Array.isArray(field) && field.length === 0);
const isLong = (name: string, field: unknown): field is unknown[] =>
  Array.isArray(field) && (name === 'groups' || name === 'more' || (name === 'rows' && field.length > 0));
const shortForm = (field: unknown) =>
  printable(typeof field === 'object' ? JSON.stringify(field) : String(field));
const cut = (text: string) => (text.length > MAX_WIDTH ? `${text.slice(0, MAX_WIDTH)}…` : text);

interface Batch {
  file?: number;
  batch?: number;
  groups: { key: string; devices: number | string[] }[];
}

function longLines(value: Record<string, unknown>, colours: Paint): string[] {
  const ofBatch = ({ groups }: Batch) =>
    groups.flatMap(({ key, devices }) => {
      const name = printable(key) || '(no event)';
      if (typeof devices === 'number')
        return [`${INDENT}${colours.green(name)}  ${plural(devices, 'device')}`];
      return devices.map((device) => `${INDENT}${colours.green(name)}  ${device}`);
    });
  const more = (value.more ?? []) as Batch[];
  const lines = [
    ...('groups' in value ? ofBatch(value as unknown as Batch) : []),
    ...more.flatMap((batch) => [
      `${INDENT}${colours.dim(`file=${batch.file} batch=${batch.batch}`)}`,
      ...ofBatch(batch),
    ]),
  ];
  const rows = Array.isArray(value.rows) ? value.rows : [];
  // Rows of a batch as in the file; rejected rows with line and code.
  for (const row of rows)
    lines.push(
      typeof row === 'string'
        ? `${INDENT}${printable(row)}`
        : `${INDENT}${colours.dim(`line ${row.line}`)}  ${colours.yellow(row.code)}  ${printable(row.raw)}`,
    );
  return lines;
}
