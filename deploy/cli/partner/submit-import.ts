/** Submits imports and prints their outcome. */

import type { ApiClient } from '../../../api/client/client.ts';
import { importPath } from '../../../api/client/client.ts';
import type { ImportLog } from '../../../api/client/types.ts';
import { CommandError, exitCodes, usageError } from './exit-codes.ts';
import { followJob } from './follow-job.ts';
import { errorLines, matchLines, outcomeLine, rejectedText } from './import-views.ts';
import type { CommandContext } from './run-command.ts';

export const ATTRIBUTE_ID = 0;
export const FOREIGN_KEY = 1;
type KeyType = ImportLog['key_type'];

export interface Submission {
  path: string;
  keyType: KeyType;
  compressed?: boolean;
}
export interface Submitted {
  import_log_id: number;
  /** Absent for a deletion. */
  file_path?: string;
  /** The job whose rejected rows were corrected. */
  resubmits?: number;
}

/** Access to the partner's own bucket, with the keys in the environment variables of AWS tools. */
function ownBucket(path: string): object {
  const {
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    AWS_REGION: region = process.env.AWS_DEFAULT_REGION,
  } = process.env;
  if (!accessKeyId || !secretAccessKey || !region)
    throw usageError(
      `${path} is in your own bucket: set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION to keys that can read it`,
    );
  return { path_type: 1, credentials: { accessKeyId, secretAccessKey, region } };
}

export function importRequest({ path, keyType, compressed }: Submission): object {
  return {
    file_path: path,
    key_type: keyType,
    compressed: compressed ?? 'auto',
    ...(path.startsWith('s3://') ? ownBucket(path) : {}),
  };
}

export async function submitImport(api: ApiClient, submission: Submission): Promise<Submitted> {
  const request = importRequest(submission);
  const { data } = await api.change<{ import_log_id: number }>('POST', importPath, request);
  return { ...data, file_path: submission.path };
}

/** Prints the record of a job. Returns false if it failed. */
async function printOutcome(context: CommandContext, path: string): Promise<boolean> {
  const { api, colours } = context;
  const { data: log } = await api.get<ImportLog>(path);
  await context.print(log, () => [outcomeLine(log, colours), ...matchLines(log), ...errorLines(log.errors)]);
  const rejected = rejectedText(log.rows_rejected ?? {});
  if (rejected !== '')
    context.say(`rejected rows: ${rejected}; show them with: headrace import rejects ${log.import_log_id}`);
  return log.status !== 3;
}

export async function followImports(context: CommandContext, ids: readonly number[]): Promise<void> {
  const failed: number[] = [];
  for (const id of ids) {
    const path = `${importPath}/${id}`;
    const followed = { name: `job ${id}`, path, again: `headrace import show ${id} --follow` };
    try {
      await followJob(context.api, followed, context);
    } catch (error) {
      if (error instanceof CommandError && error.exitCode === exitCodes.stillRunning)
        await printOutcome(context, path);
      throw error;
    }
    if (!(await printOutcome(context, path))) failed.push(id);
  }
  if (failed.length > 0)
    throw new CommandError(exitCodes.jobFailed, 'job_failed', `job ${failed.join(', ')} failed`);
}

export async function tellSubmitted(
  context: CommandContext,
  submitted: readonly Submitted[],
  isFollowed = false,
): Promise<void> {
  if (isFollowed)
    return followImports(
      context,
      submitted.map((each) => each.import_log_id),
    );
  for (const each of submitted)
    await context.print(each, () => [
      `submitted job ${each.import_log_id}: ${each.file_path ?? 'a deletion'}`,
    ]);
}
