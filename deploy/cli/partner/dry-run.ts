/** `--dry-run`: shows what would be loaded and rejected. Changes nothing. */
import type { Command } from 'commander';
import { count, plural } from '../../../api/client/format.ts';
import type { DryRun } from '../../../api/client/types.ts';
import { type Paint, printable } from '../../../pipeline/runtime/terminal.ts';
import { type Columns, listLines } from '../show.ts';
import { CommandError, exitCodes } from './exit-codes.ts';
import { follow } from './follow-job.ts';
import { errorLines, fileProblems, matchLines } from './import-views.ts';
import type { CommandContext } from './run-command.ts';

export const withDryRun = <C extends Command>(command: C): C =>
  command.option('--dry-run', 'show what would be loaded and rejected; change nothing');

const fileColumns: Columns<DryRun['file'][number]> = {
  ROWS: ({ rows }) => rows,
  ACCEPTED: ({ rows_accepted }) => rows_accepted,
  FILE: ({ s3_path, complete }) => `${printable(s3_path)}${complete ? '' : ' (partly read)'}`,
  REJECTED: fileProblems,
};

const exampleLines = ({ file }: DryRun): string[] =>
  file.flatMap(({ s3_path, examples }) =>
    examples.map(({ line, code, raw }) => `  ${printable(`${s3_path}:${line}: ${raw}`)} (${code})`),
  );

function dryRunLines(run: DryRun, colours: Paint): string[] {
  const verdict = run.status === 2 ? colours.green('would succeed') : colours.red('would fail');
  const read = run.complete
    ? ''
    : `; read ${count(run.files_read)} of ${plural(run.files, 'file')}, up to the limit`;
  return [
    `${printable(run.file_path)}  ${verdict}  ${count(run.rows_accepted)} of ${plural(run.total_rows, 'row')} accepted${read}`,
    ...matchLines(run),
    ...errorLines(run.errors),
    ...run.file.flatMap(({ s3_path, failure }) => errorLines(failure && [{ ...failure, file: s3_path }])),
    ...(run.file.length > 0 ? listLines(run.file, fileColumns, colours) : []),
    ...exampleLines(run),
  ];
}

/** Runs and prints a dry run of each request; exits with 5 if a load would fail. */
export async function dryRun(
  context: CommandContext,
  collection: string,
  requests: readonly object[],
): Promise<void> {
  let failed = 0;
  for (const request of requests) {
    const { data: queued } = await context.api.change<{ dry_run_id: number }>(
      'POST',
      `${collection}?dry_run=true`,
      request,
    );
    const path = `${collection}/dry-runs/${queued.dry_run_id}`;
    const name = `dry run ${queued.dry_run_id}`;
    const ended = await follow({ name, again: `GET ${path}` }, context, async (patient, show) => {
      const { data } = await context.api.get<DryRun>(path, patient);
      if (data.status >= 2) return data;
      show(
        `${name}  ${count(data.files_read)} of ${plural(data.files, 'file')}, ${plural(data.total_rows, 'row')}`,
      );
      return undefined;
    });
    await context.print(ended, () => dryRunLines(ended, context.colours));
    if (ended.status === 3) failed++;
  }
  if (failed > 0)
    throw new CommandError(exitCodes.jobFailed, 'job_failed', 'a load of these files would fail');
}
