/** `headrace usage`: the partner's quotas and usage. */

import type { Command } from 'commander';
import { usagePath } from '../../../../api/client/client.ts';
import { bytes, count } from '../../../../api/client/format.ts';
import type { Usage } from '../../../../api/client/types.ts';
import { type Paint, table } from '../../../../pipeline/runtime/terminal.ts';
import { between } from '../../parse-options.ts';
import { heading } from '../../show.ts';
import { runCommand } from '../run-command.ts';
import { addCommand } from '../subcommands.ts';

const DEFAULT_DAYS = 7;

const ofLimit = (used: number, limit: number | null, format: (value: number) => string) =>
  limit === null ? `${format(used)} (no limit)` : `${format(used)} of ${format(limit)}`;

function lines({ pending_jobs, quotas, days }: Usage, colours: Paint): string[] {
  const now = new Date().toISOString().slice(0, 10);
  const today = days.find(({ day }) => day === now) ?? { bytes: 0, rows: 0 };
  const byDay = days.map((one) => [one.day, count(one.jobs), bytes(one.bytes), count(one.rows)]);
  return [
    ...table([
      ['unfinished jobs', ofLimit(pending_jobs, quotas.pending_jobs, count)],
      ['bytes today (UTC)', ofLimit(today.bytes, quotas.bytes_per_day, bytes)],
      ['rows today (UTC)', ofLimit(today.rows, quotas.rows_per_day, count)],
    ]),
    '',
    ...(days.length === 0
      ? ['nothing loaded yet']
      : table([heading(['DAY (UTC)', 'JOBS', 'BYTES', 'ROWS'], colours), ...byDay], [1, 2, 3])),
  ];
}

export function register(program: Command): void {
  addCommand(program, 'usage', 'show your quotas and your daily usage')
    .option('--days <n>', 'number of days with usage to show', between(1, 366), DEFAULT_DAYS)
    .action(({ days }: { days: number }, command: Command) =>
      runCommand(command, async ({ api, print, colours }) => {
        const { data } = await api.get<Usage>(`${usagePath}?days=${days}`);
        await print(data, () => lines(data, colours));
      }),
    );
}
