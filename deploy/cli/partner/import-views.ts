/** Imports as readable lines. */

import { count, plural } from '../../../api/client/format.ts';
import type { FileReport, ImportLog, ImportLogError, Progress } from '../../../api/client/types.ts';
import { byRows, importTitle } from '../../../api/client/words.ts';
import { type Paint, printable, table } from '../../../pipeline/runtime/terminal.ts';
import { heading, statusWord, when } from '../show.ts';
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
export const rejectedCount = (rejected: Record<string, number> | null): string =>
  rejected === null ? '' : count(totalOf(rejected));
/** `93 (80 bad_identifier, 13 opted_out)` */
export const rejectedDetails = (rejected: Record<string, number> | null): string => {
  const reasons = rejectedText(rejected ?? {});
  return `${rejectedCount(rejected)}${reasons === '' ? '' : ` (${reasons})`}`;
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

export function importLines(logs: readonly ImportLog[], colours: Paint): string[] {
  const rows = logs.map((log) => [
    String(log.import_log_id),
    statusWord(log.status, colours),
    count(Number(log.total_rows)),
    rejectedCount(log.rows_rejected),
    count(Number(log.unique_devices)),
    when(log.created_at),
    printable(importTitle(log)),
  ]);
  return table(
    [heading(['ID', 'STATUS', 'ROWS', 'REJECTED', 'DEVICES', 'CREATED', 'PATH'], colours), ...rows],
    [0, 2, 3, 4],
  );
}

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

export function fileLines(files: readonly FileReport[], colours: Paint): string[] {
  const rows = files.map((file) => [
    statusWord(file.status, colours),
    count(file.rows),
    count(file.rows_accepted),
    file.rows_duplicate === null ? '' : count(file.rows_duplicate),
    printable(file.s3_path),
    [rejectedText(file.rows_rejected), file.failure?.code ?? ''].filter((text) => text !== '').join('; '),
  ]);
  const names = ['STATUS', 'ROWS', 'ACCEPTED', 'DUPLICATE', 'FILE', 'REJECTED'];
  return table([heading(names, colours), ...rows], [1, 2, 3]);
}
