/** `headrace usage`: the partner's quotas and usage. */

import type { Command } from 'commander';
import { usagePath } from '../../../../api/client/client.ts';
import { bytes, count } from '../../../../api/client/format.ts';
import type { Usage } from '../../../../api/client/types.ts';
import { type Paint, table } from '../../../../pipeline/runtime/terminal.ts';
import { between } from '../../parse-options.ts';
import { type Columns, listLines } from '../../show.ts';
import { addCommand } from '../subcommands.ts';

const DEFAULT_DAYS = 7;

const ofLimit = (used: number, limit: number | null, format: (value: number) => string) =>
  limit === null ? `${format(used)} (no limit)` : `${format(used)} of ${format(limit)}`;

const columns: Columns<Usage['days'][number]> = {
  'DAY (UTC)': ({ day }) => day,
  JOBS: ({ jobs }) => jobs,
  BYTES: (day) => bytes(day.bytes),
  ROWS: ({ rows }) => rows,
};

function lines({ pending_jobs, quotas, days }: Usage, colours: Paint): string[] {
  const now = new Date().toISOString().slice(0, 10);
  const today = days.find(({ day }) => day === now) ?? { bytes: 0, rows: 0 };
  return [
    ...table([
      ['unfinished jobs', ofLimit(pending_jobs, quotas.pending_jobs, count)],
      ['bytes today (UTC)', ofLimit(today.bytes, quotas.bytes_per_day, bytes)],
      ['rows today (UTC)', ofLimit(today.rows, quotas.rows_per_day, count)],
    ]),
    '',
    ...(days.length === 0 ? ['nothing loaded yet'] : listLines(days, columns, colours)),
  ];
}

export function register(program: Command): void {
  addCommand(program, 'usage', 'show your quotas and your daily usage')
    .option('--days <n>', 'number of days with usage to show', between(1, 366), DEFAULT_DAYS)
    .runs(async ({ api, print, colours }, { days }: { days: number }) => {
      const { data } = await api.get<Usage>(`${usagePath}?days=${days}`);
      await print(data, () => lines(data, colours));
    });
}
