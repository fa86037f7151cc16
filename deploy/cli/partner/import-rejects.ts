/** `headrace import rejects`: shows or saves the rejected rows of a job, or submits the corrected rows as a new job linked to it. */

import type { Command } from 'commander';
import { importPath } from '../../../api/client/client.ts';
import { plural } from '../../../api/client/format.ts';
import type { ImportLog } from '../../../api/client/types.ts';
import { wholeNumber } from '../parse-options.ts';
import { CommandError, exitCodes, usageError } from './exit-codes.ts';
import { printRejects, saveRejects } from './rejected-rows.ts';
import type { CommandContext } from './run-command.ts';
import { withStorage } from './settings.ts';
import { addCommand, withFollow } from './subcommands.ts';
import { submitImport, tellSubmitted } from './submit-import.ts';
import { newFolder, upload } from './upload.ts';

interface RejectsOptions {
  output?: string;
  resubmit?: string;
  follow?: boolean;
}

/** An unfinished job may still reject rows. */
async function endedJob({ api }: CommandContext, id: number): Promise<ImportLog> {
  const { data } = await api.get<ImportLog>(`${importPath}/${id}`);
  if (data.status < 2)
    throw new CommandError(
      exitCodes.failed,
      'not_ended',
      `job ${id} is still running and may reject more rows: wait until it has ended`,
    );
  return data;
}

async function save(context: CommandContext, id: number, output: string): Promise<void> {
  const { errors } = await endedJob(context, id);
  const saved = await saveRejects(() => context.api.open(`${importPath}/${id}/rejects`), output);
  const failedFiles = (errors ?? []).flatMap(({ file }) => (file === undefined ? [] : [file]));
  await context.print({ ...saved, output, failed_files: failedFiles }, () => [
    `wrote ${plural(saved.rows, 'row')} to ${output}; correct them, then: headrace import rejects ${id} --resubmit ${output}`,
  ]);
  if (saved.truncated > 0)
    context.say(
      `skipped ${plural(saved.truncated, 'row')} too long to be stored: correct them in your files`,
    );
  if (saved.omitted > 0) context.say(`rejected but not stored: ${plural(saved.omitted, 'more row')}`);
  for (const file of failedFiles)
    context.say(`${file} failed and none of its rows were loaded: correct it and submit the whole file`);
}

async function resubmit(context: CommandContext, id: number, file: string, follow?: boolean): Promise<void> {
  const { key_type: keyType } = await endedJob(context, id);
  const path = await upload(context, [file], { to: newFolder(`rejects-of-job-${id}`), parallel: 1 });
  const submitted = await submitImport(context.api, { path, keyType });
  await tellSubmitted(context, [{ ...submitted, resubmits: id }], follow);
}

export function registerImportRejects(group: Command): void {
  withStorage(
    withFollow(addCommand(group, 'rejects', 'show, save or resubmit the rejected rows of an import')),
  )
    .argument('<id>', 'import_log_id', wholeNumber)
    .option('--output <file>', 'save the rows to a new file, to correct them')
    .option('--resubmit <file>', 'upload the corrected file and submit it as a new job')
    .runs(async (context, id: number, options: RejectsOptions) => {
      const { output, resubmit: corrected, follow } = options;
      if (output !== undefined && corrected !== undefined)
        throw usageError('--output and --resubmit are separate steps: correct the rows in between');
      if (output !== undefined) return save(context, id, output);
      if (corrected !== undefined) return resubmit(context, id, corrected, follow);
      await printRejects(context, await context.api.open(`${importPath}/${id}/rejects`));
    });
}
