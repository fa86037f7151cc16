/** `headrace load`: generates files, uploads and submits them, follows the jobs, verifies every count, cleans up, and reports. */

import { accessSync, constants, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { ApiClient } from '../../../api/client/client.ts';
import { plural } from '../../../api/client/format.ts';
import { connectApi } from '../partner/connect-api.ts';
import { CommandError, commandErrorOf, exitCodes, interruption, usageError } from '../partner/exit-codes.ts';
import type { CommandContext } from '../partner/run-command.ts';
import type { Settings } from '../partner/settings.ts';
import { connectStorage } from '../partner/storage.ts';
import { checkEmpty, cleanUp } from './clean-up.ts';
import type { SubmittedJob } from './jobs.ts';
import { createLayout, type Layout } from './layouts.ts';
import { measureLoad } from './measure-load.ts';
import { type LoadOptions, type LoadPlan, planOf } from './options.ts';
import { prepareFiles } from './prepare-files.ts';
import { type LoadReport, reportOf } from './report.ts';
import { reportPage } from './report-page.ts';
import { showProgress } from './show-progress.ts';
import { summaryLines } from './summary.ts';
import { verifyJobs } from './verify-jobs.ts';

interface ReportPaths {
  json: string;
  html: string;
}

/** Fails before the load test, not after it. */
function reportPaths(name: string): ReportPaths {
  const base = name.replace(/\.(json|html)$/, '');
  try {
    accessSync(dirname(base), constants.W_OK);
  } catch (error) {
    throw usageError(`--report ${name}: ${(error as Error).message}`);
  }
  return { json: `${base}.json`, html: `${base}.html` };
}

function writeReport({ json, html }: ReportPaths, report: LoadReport): void {
  try {
    writeFileSync(json, `${JSON.stringify(report, undefined, 2)}\n`);
    writeFileSync(html, reportPage(report));
  } catch (error) {
    throw new CommandError(exitCodes.failed, 'unwritable', (error as Error).message);
  }
}

type Storage = ReturnType<typeof connectStorage>;

interface Run {
  context: CommandContext;
  plan: LoadPlan;
  layout: Layout;
  storage: Storage;
  shown: ReturnType<typeof showProgress>;
  /** The jobs queued so far. */
  jobs: SubmittedJob[];
}

async function checkAllowed(reading: ApiClient, { api_url }: Settings): Promise<void> {
  const { data } = await reading.get<{ allows_load?: boolean }>('/');
  if (data.allows_load === true) return;
  throw new CommandError(
    exitCodes.failed,
    'load_not_allowed',
    `${api_url} does not allow load tests: its operator can allow them with HEADRACE_ALLOW_LOAD=1`,
  );
}

async function load(
  { context, plan, layout, storage, jobs, shown }: Run,
  keys: readonly string[],
): Promise<LoadReport> {
  const { api: reading, signal, settings } = context;
  const startedAt = new Date();
  try {
    const since = performance.now();
    const prepared = await prepareFiles(storage, plan, {
      keys,
      invalid: layout.invalid,
      signal,
      onFile: shown.file,
    });
    const upload = { ...shown.uploaded(), seconds: (performance.now() - since) / 1_000 };
    shown.line(`uploaded ${plural(upload.files, 'file')} to ${plan.prefix}`);
    const measured = await measureLoad(prepared, {
      plan,
      layout,
      reading,
      signal,
      onJob: (job) => void jobs.push(job),
      onSample: shown.sample,
      onStep: shown.step,
    });
    const verified = await verifyJobs(reading, layout, jobs, (done) => shown.verified(done, jobs.length));
    return reportOf({
      service: settings.api_url!,
      startedAt,
      plan,
      upload,
      jobs: verified.sort((a, b) => a.id - b.id),
      ...measured,
    });
  } finally {
    shown.clear();
  }
}

/** Returns what happened to the files and audiences; `failure` if they could not be removed. */
async function tidy({ plan, storage, layout, jobs, shown }: Run, isKept: boolean) {
  const place = `s3://${storage.bucket}/${storage.prefix}${plan.prefix}`;
  if (isKept) return { said: `kept ${place}${layout.remove ? ' and its audiences' : ''}` };
  try {
    const { objects, audiences } = await cleanUp(storage, plan.prefix, layout, jobs, shown.deleted);
    const both = [plural(objects, 'file'), ...(layout.remove ? [plural(audiences, 'audience')] : [])];
    return { said: `deleted ${both.join(' and ')}` };
  } catch (error) {
    const { message } = error as Error;
    return {
      said: `left files in ${place}: ${message}`,
      failure: new CommandError(exitCodes.failed, 'left_behind', message, { cause: error }),
    };
  } finally {
    shown.clear();
  }
}

/** Imports cannot be undone: only all data of an attribute can be deleted. */
const staysText = ({ layout, jobs }: Run): string =>
  layout.remove || jobs.length === 0
    ? ''
    : '; the imported data stays in your attributes (delete it with: headrace import delete)';
const unfinishedText = ({ layout, jobs }: Run): string =>
  layout.remove || jobs.length === 0
    ? ''
    : `; of ${plural(jobs.length, 'queued import')}, those that have not read their files will fail`;

async function failed(run: Run, error: unknown, isKept: boolean): Promise<never> {
  const { said } = await tidy(run, isKept);
  const left = `${said}${staysText(run)}${isKept ? '' : unfinishedText(run)}`;
  if (run.context.signal.aborted) throw interruption(`interrupted; ${left}`);
  const told = commandErrorOf(error);
  if (told) throw new CommandError(told.exitCode, told.code, `${told.message}; ${left}`, told);
  run.context.say(left);
  throw error;
}

function failureOf({ failed_jobs, counts }: LoadReport): CommandError | undefined {
  if (failed_jobs > 0)
    return new CommandError(exitCodes.jobFailed, 'job_failed', `${plural(failed_jobs, 'job')} failed`);
  if (counts.wrong.length > 0)
    return new CommandError(
      exitCodes.failed,
      'wrong_counts',
      `${plural(counts.wrong.length, 'count')} returned by the service ${counts.wrong.length === 1 ? 'is' : 'are'} wrong`,
    );
  return undefined;
}

export async function runLoad(context: CommandContext, options: LoadOptions): Promise<void> {
  const plan = planOf(options);
  const paths = options.report === undefined ? undefined : reportPaths(options.report);
  const isKept = options.keep === true;
  await checkAllowed(context.api, context.settings);
  const clients = { reading: context.api, changing: connectApi(context.settings) };
  const layout = createLayout(clients, plan);
  const keys = await layout.keys();
  const storage = connectStorage(context.settings);
  const shown = showProgress(context, plan);
  const run: Run = { context, plan, layout, storage, shown, jobs: [] };
  try {
    await checkEmpty(storage, plan.prefix);
    const report = await load(run, keys).catch((error) => failed(run, error, isKept));
    const { said, failure } = await tidy(run, isKept);
    context.say(`${said}${staysText(run)}`);
    if (paths) writeReport(paths, report);
    await context.print(report, () => summaryLines(report, context.colours));
    if (paths) context.say(`the report is in ${paths.html} and ${paths.json}`);
    const end = failureOf(report) ?? failure;
    if (end) throw end;
  } finally {
    storage.s3.destroy();
  }
}
