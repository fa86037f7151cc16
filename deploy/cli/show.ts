/** Formats times and statuses, for all commands. Numbers: api/client/format.ts. */
import type { Status } from '../../api/client/types.ts';
import type { Paint } from '../../pipeline/runtime/terminal.ts';
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

export const heading = (names: readonly string[], { bold }: Paint): string[] =>
  names.map((name) => bold(name));
