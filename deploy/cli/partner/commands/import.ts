/** `headrace import …`: submits and follows marketplace imports. */

import type { Command } from 'commander';
import { importPath, listRecords } from '../../../../api/client/client.ts';
import { plural } from '../../../../api/client/format.ts';
import type { FileReport, ImportLog, Progress } from '../../../../api/client/types.ts';
import { wholeNumber } from '../../parse-options.ts';
import { dryRun, withDryRun } from '../dry-run.ts';
import { registerImportRejects } from '../import-rejects.ts';
import { fileLines, importDetails, importLines } from '../import-views.ts';
import { passOn } from '../rejected-rows.ts';
import { addCommand, addGroup, type ListOptions, withFollow, withListOptions } from '../subcommands.ts';
import {
  ATTRIBUTE_ID,
  FOREIGN_KEY,
  followImports,
  importRequest,
  type Submission,
  type Submitted,
  submitImport,
  tellSubmitted,
} from '../submit-import.ts';
import { sourcesOf, type UploadFlags, withUpload } from '../upload.ts';

interface SubmitOptions extends UploadFlags {
  foreignKeys?: boolean;
  compressed?: boolean;
  follow?: boolean;
  dryRun?: boolean;
}

const foreignKeys = ['--foreign-keys', 'the keys are partner_foreign_keys (default: attribute_ids)'] as const;
const keyTypeOf = (options: { foreignKeys?: boolean }) => (options.foreignKeys ? FOREIGN_KEY : ATTRIBUTE_ID);

export function register(program: Command): void {
  const group = addGroup(program, 'import', 'import attribute data, follow imports, delete data');

  withFollow(withDryRun(withUpload(addCommand(group, 'submit', 'import files, or all files under a prefix'))))
    .argument('<path...>', 'paths below your prefix, s3://… in your own bucket, or local paths with --upload')
    .option(...foreignKeys)
    .option('--compressed', 'the files are gzip-compressed (default: those that end in .gz)')
    .option('--no-compressed', 'the files are not compressed')
    .runs(async (context, paths: string[], options: SubmitOptions) => {
      const { compressed, follow } = options;
      const keyType = keyTypeOf(options);
      const sources = await sourcesOf(context, paths, options);
      const submissions: Submission[] = sources.map((path) => ({ path, compressed, keyType }));
      if (options.dryRun) return dryRun(context, importPath, submissions.map(importRequest));
      const submitted: Submitted[] = [];
      for (const submission of submissions) submitted.push(await submitImport(context.api, submission));
      await tellSubmitted(context, submitted, follow);
    });

  withListOptions(addCommand(group, 'list', 'list imports and deletions, newest first')).runs(
    async ({ api, print, colours }, options: ListOptions) => {
      const logs = await listRecords<ImportLog>(api, importPath, options);
      await print(logs, () => importLines(logs, colours));
    },
  );

  withFollow(addCommand(group, 'show', 'show an import'))
    .argument('<id>', 'import_log_id', wholeNumber)
    .runs(async (context, id: number, options: { follow?: boolean }) => {
      if (options.follow) return followImports(context, [id]);
      const path = `${importPath}/${id}`;
      const { data: log } = await context.api.get<ImportLog>(path);
      const isOpen = log.status < 2 && !context.isJson;
      const progress = isOpen ? (await context.api.get<Progress>(`${path}/progress`)).data : undefined;
      await context.print(log, () => importDetails(log, context.colours, progress));
    });

  addCommand(group, 'files', 'show the files of an import with their row counts')
    .argument('<id>', 'import_log_id', wholeNumber)
    .runs(async ({ api, print, colours, isJson }, id: number) => {
      const path = `${importPath}/${id}/files`;
      if (isJson) return passOn(await api.open(path));
      const { data } = await api.get<FileReport[]>(path);
      await print(data, () => fileLines(data, colours));
    });

  registerImportRejects(group);

  withFollow(addCommand(group, 'delete', 'permanently delete all data of these attributes'))
    .argument('<keys...>', 'attribute_ids')
    .option(...foreignKeys)
    .confirms((keys: string[]) => `Delete the data of ${plural(keys.length, 'attribute')} permanently?`)
    .runs(async (context, keys: string[], options: SubmitOptions) => {
      const request = { key_type: keyTypeOf(options), keys };
      const { data } = await context.api.change<Submitted>('DELETE', importPath, request);
      await tellSubmitted(context, [data], options.follow);
    });
}
