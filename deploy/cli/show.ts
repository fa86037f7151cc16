/** Formats lists, times and statuses, for all commands. */
import { count } from '../../api/client/format.ts';
import type { Status } from '../../api/client/types.ts';
import { type Paint, table } from '../../pipeline/runtime/terminal.ts';
import { statusNames } from './parse-options.ts';

/** In place of a value that does not exist. */
export const none = '–';

/** UTC, to the second: 2026-11-16 06:54:28Z */
export const when = (time: string | Date): string =>
  `${(typeof time === 'string' ? time : time.toISOString()).slice(0, 19).replace('T', ' ')}Z`;
export const whenever = (time: string | Date | null | undefined): string => (time ? when(time) : none);

export function statusWord(status: Status, colours: Paint): string {
  const colour = ([colours.dim, colours.cyan, colours.green, colours.red] as const)[status];
  return colour(statusNames[status]);
}

/** Headings, and the cells of a record below them. Numbers are right-aligned. */
export type Columns<T> = Record<string, (record: T) => string | number>;

export function listLines<T>(records: readonly T[], columns: Columns<T>, colours?: Paint): string[] {
  const names = Object.keys(columns);
  const rows = records.map((record) => Object.values(columns).map((cell) => cell(record)));
  const right = names.map((_, i) => i).filter((i) => rows.some((row) => typeof row[i] === 'number'));
  const texts = rows.map((row) => row.map((cell) => (typeof cell === 'number' ? count(cell) : cell)));
  return table([colours ? names.map(colours.bold) : names, ...texts], right);
}
