/** Imports as readable lines. */

import { count, plural } from '../../../api/client/format.ts';
import type { FileReport, ImportLog, ImportLogError, Progress } from '../../../api/client/types.ts';
import { byRows, importTitle } from '../../../api/client/words.ts';
import { type Paint, printable, table } from '../../../pipeline/runtime/terminal.ts';
import { type Columns, listLines, statusWord, when } from '../show.ts';
import { progressText } from './follow-job.ts';

const MAX_ERRORS = 20;

export const errorLines = (errors: readonly ImportLogError[] | null): string[] => {
  const all = errors ?? [];
  const lines = all
    .slice(0, MAX_ERRORS)
    .map(({ code, message, file, line }) =>
      printable(
        `  ${file === undefined ? '' : `${file}${line === undefined ? '' : `:${line}`}: `}${message} (${code})`,
      ),
    );
  return all.length > MAX_ERRORS ? [...lines, `  … and ${count(all.length - MAX_ERRORS)} more`] : lines;
};

export const rejectedText = (rejected: Record<string, number>): string =>
  byRows(rejected)
    .map(([code, rows]) => `${count(rows)} ${code}`)
    .join(', ');

const totalOf = (rejected: Record<string, number> | null): number =>
  byRows(rejected ?? {}).reduce((sum, [, rows]) => sum + rows, 0);
/** The number of rejected rows; only final for ended jobs. */
export const rejectedCount = (rejected: Record<string, number> | null): number | '' =>
  rejected === null ? '' : totalOf(rejected);
/** `93 (80 bad_identifier, 13 opted_out)` */
export const rejectedDetails = (rejected: Record<string, number> | null): string => {
  const reasons = rejectedText(rejected ?? {});
  return `${rejected === null ? '' : count(totalOf(rejected))}${reasons === '' ? '' : ` (${reasons})`}`;
};

/** `done, 93 rejected` */
export function outcomeWord(
  { status, rows_rejected }: Pick<ImportLog, 'status' | 'rows_rejected'>,
  colours: Paint,
): string {
  const rejected = totalOf(rows_rejected);
  const word = statusWord(status, colours);
  return rejected > 0 ? `${word}, ${colours.yellow(`${count(rejected)} rejected`)}` : word;
}

/** Warns that a prefix also matches other folders: `day` matches `day2/`. */
export const matchLines = ({
  file_path,
  prefix_matches,
}: Pick<ImportLog, 'file_path' | 'prefix_matches'>): string[] =>
  prefix_matches.length < 2
    ? []
    : [printable(`  ${file_path} is a prefix of ${prefix_matches.join(', ')}: end it with / for one folder`)];

const importColumns = (colours: Paint): Columns<ImportLog> => ({
  ID: ({ import_log_id }) => String(import_log_id),
  STATUS: ({ status }) => statusWord(status, colours),
  ROWS: ({ total_rows }) => Number(total_rows),
  REJECTED: ({ rows_rejected }) => rejectedCount(rows_rejected),
  DEVICES: ({ unique_devices }) => Number(unique_devices),
  CREATED: ({ created_at }) => when(created_at),
  PATH: (log) => printable(importTitle(log)),
});
export const importLines = (logs: readonly ImportLog[], colours: Paint): string[] =>
  listLines(logs, importColumns(colours), colours);

/** The result of an import or a deletion. */
export function outcomeLine(log: ImportLog, colours: Paint): string {
  const work =
    log.log_type === 1
      ? `${plural(Number(log.total_rows), 'value')} removed from ${plural(Number(log.unique_devices), 'device')}`
      : `${plural(Number(log.total_rows), 'row')}, ${plural(Number(log.unique_devices), 'device')}`;
  return `job ${log.import_log_id}  ${outcomeWord(log, colours)}  ${printable(importTitle(log))}  ${work}`;
}

export const importDetails = (log: ImportLog, colours: Paint, progress?: Progress): string[] => [
  ...table([
    ['job', String(log.import_log_id)],
    ['status', statusWord(log.status, colours)],
    ['path', printable(importTitle(log))],
    ['keys', log.key_type === 0 ? 'attribute ids' : 'partner foreign keys'],
    ...(progress ? [['progress', progressText(progress)]] : []),
    ['rows', count(Number(log.total_rows))],
    ...(log.rows_rejected === null ? [] : [['rejected', rejectedDetails(log.rows_rejected)]]),
    ['devices', count(Number(log.unique_devices))],
    ['created', when(log.created_at)],
    ['updated', when(log.updated_at)],
  ]),
  ...matchLines(log),
  ...errorLines(log.errors),
];

/** The reasons for rejected rows, and why the file failed. */
export const fileProblems = ({ rows_rejected, failure }: Pick<FileReport, 'rows_rejected' | 'failure'>) =>
  [rejectedText(rows_rejected), failure?.code ?? ''].filter((text) => text !== '').join('; ');

const fileColumns = (colours: Paint): Columns<FileReport> => ({
  STATUS: ({ status }) => statusWord(status, colours),
  ROWS: ({ rows }) => rows,
  ACCEPTED: ({ rows_accepted }) => rows_accepted,
  DUPLICATE: ({ rows_duplicate }) => rows_duplicate ?? '',
  FILE: ({ s3_path }) => printable(s3_path),
  REJECTED: fileProblems,
});
export const fileLines = (files: readonly FileReport[], colours: Paint): string[] =>
  listLines(files, fileColumns(colours), colours);
