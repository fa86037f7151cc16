/** Submits imports and prints their outcome. */

import type { ApiClient } from '../../../api/client/client.ts';
import { importPath } from '../../../api/client/client.ts';
import type { ImportLog } from '../../../api/client/types.ts';
import { usageError } from './exit-codes.ts';
import { followJobs } from './follow-job.ts';
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

async function printOutcome({ api, print, say, colours }: CommandContext, path: string): Promise<ImportLog> {
  const { data: log } = await api.get<ImportLog>(path);
  await print(log, () => [outcomeLine(log, colours), ...matchLines(log), ...errorLines(log.errors)]);
  const rejected = rejectedText(log.rows_rejected ?? {});
  if (rejected !== '')
    say(`rejected rows: ${rejected}; show them with: headrace import rejects ${log.import_log_id}`);
  return log;
}

export function followImports(context: CommandContext, ids: readonly number[]): Promise<void> {
  const jobs = ids.map((id) => ({
    name: `job ${id}`,
    path: `${importPath}/${id}`,
    again: `headrace import show ${id} --follow`,
  }));
  return followJobs(context, jobs, (path) => printOutcome(context, path));
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
