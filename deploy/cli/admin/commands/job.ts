/** `headrace admin job …`: for a stuck queue. */
import type { Command } from 'commander';
import { bytes, count, plural } from '../../../../api/client/format.ts';
import type { JobDocument } from '../../../../schemas/job-documents.ts';
import type { Environments } from '../../commands.ts';
import { yesOption } from '../../confirm.ts';
import { statusNames, wholeNumber } from '../../parse-options.ts';
import { none, when } from '../../show.ts';
import { createJobInspection, type InspectedJob, type ListedJob } from '../inspect-jobs.ts';
import { adminTools, type Work } from '../runner.ts';
import { table } from '../views.ts';

const jobRecord = (job: JobDocument) => ({
  job: job._id,
  kind: job.kind,
  partner_id: job.partner,
  phase: job.phase,
  status: job.status,
  file_path: job.filePath,
  audience: job.audience,
  files: job.fileCount,
  files_done: job.filesDone,
  rows: job.rows,
  unique_devices: job.uniqueDevices,
  attempt: job.attempt ?? 0,
  cancel_requested: job.cancelRequested ?? false,
  stopped_at: job.stoppedAt ?? null,
  drop_requested: job.dropRequested ?? false,
  dropped: job.dropped ? { merged_slots: job.dropped.merged, not_merged_slots: job.dropped.notMerged } : null,
  errors: job.errors,
  internal_reason: job.internalReason ?? null,
  created_at: job.createdAt,
  updated_at: job.updatedAt,
});

const listedRecord = ({ job, lane, jobsAhead }: ListedJob) => ({
  ...jobRecord(job),
  lane,
  jobs_ahead: jobsAhead,
});

const inspectedRecord = ({ files, undecided, ledger, votes, acks, waitsFor, ...listed }: InspectedJob) => ({
  ...listedRecord(listed),
  waits_for: waitsFor,
  since: waitsFor === null ? null : listed.job.updatedAt,
  files_by_status: files,
  undecided_files: undecided.map(({ isDispatched, ...file }) => ({ ...file, dispatched: isDispatched })),
  ledger,
  votes,
  acks,
});

function phaseOf(job: JobDocument): string {
  if (job.phase === 'ended') return job.dropped ? 'ended (dropped)' : job.phase;
  if (job.stoppedAt) return `${job.phase} (stopped)`;
  if (job.dropRequested) return `${job.phase} (drop)`;
  if (job.cancelRequested) return `${job.phase} (cancel)`;
  return job.phase;
}

const listLines = (jobs: ListedJob[]) =>
  table(
    ['JOB', 'KIND', 'PARTNER', 'AHEAD', 'PHASE', 'STATUS', 'FILES', 'ROWS', 'LAST CHANGE', 'PATH'],
    jobs.map(({ job, jobsAhead }) => [
      String(job._id),
      job.kind,
      job.partner,
      jobsAhead === null ? none : count(jobsAhead),
      phaseOf(job),
      statusNames[job.status],
      `${count(job.filesDone)} of ${count(job.fileCount)}`,
      count(job.rows),
      when(job.updatedAt),
      job.filePath,
    ]),
    'no unfinished jobs',
  );

const listOf = (slots: number[]) => (slots.length > 0 ? slots.join(', ') : none);

function showLines(inspected: InspectedJob): string[] {
  const { job, lane, jobsAhead, files, undecided, ledger, votes, acks, waitsFor } = inspected;
  const missing = votes.flatMap((vote) => vote.missing);
  return [
    `job         ${job._id}   ${job.kind}   ${job.filePath}`,
    `partner     ${job.partner}`,
    ...(jobsAhead === null ? [] : [`lane        ${lane}   ${plural(jobsAhead, 'job')} ahead`]),
    `phase       ${phaseOf(job)}   status ${statusNames[job.status]}   attempt ${job.attempt ?? 0}`,
    ...(waitsFor === null
      ? [`ended       ${when(job.updatedAt)}`]
      : [`waits for   ${waitsFor}`, `since       ${when(job.updatedAt)}`]),
    `files       ${count(files.waiting)} waiting, ${count(files.dispatched)} dispatched, ${count(files.done)} done, ${count(files.failed)} failed`,
    ...undecided.map(
      (file) =>
        `  ${file.path}   ${bytes(file.size)}, ${file.isDispatched ? 'dispatched' : 'waiting'} since ${when(file.since)}, ${plural(file.batches, 'batch', 'batches')}, ${plural(file.rows, 'row')}`,
    ),
    // The ledger, the votes and the acks of an ended job are removed.
    ...(waitsFor === null
      ? [`rows        ${count(job.rows)}, ${plural(job.uniqueDevices, 'unique device')}`]
      : [
          `ledger      ${plural(ledger.batches, 'batch', 'batches')}, ${plural(ledger.rows, 'row')}, ${count(ledger.accepted)} accepted`,
          `votes       ${plural(votes.length, 'partition')} of ingest.devices${missing.length > 0 ? `, slots with missing devices: ${missing.join(', ')}` : ''}`,
          `merged by   ${acks.merged.length} of ${acks.merged.length + acks.missing.length} slots`,
        ]),
    ...(job.dropped
      ? [`dropped     merged by slots ${listOf(job.dropped.merged)}; not by ${listOf(job.dropped.notMerged)}`]
      : []),
    ...(job.internalReason ? [`reason      ${job.internalReason}`] : []),
    ...(job.errors ?? []).map(({ code, message, file }) => `error       ${code}   ${file ?? ''} ${message}`),
  ];
}

export function register(admin: Command, environments: Environments): void {
  const { run, add } = adminTools(environments);
  const job = admin.command('job').description('list, inspect, cancel, retry and drop jobs');
  const resume =
    (id: number, how: 'retry' | 'drop'): Work =>
    async (stores, config) => {
      const changed = await createJobInspection(stores, config).resume(id, how);
      const text = how === 'retry' ? `job ${id} is being retried` : `job ${id} is being dropped`;
      return { json: jobRecord(changed), text: [text], partner: changed.partner };
    };
  add(job, 'list', 'list unfinished jobs, oldest first, and how many are ahead of each in its lane')
    .option('--partner <id>', 'only jobs of this partner')
    .option('--all', 'include ended jobs; newest first')
    .option('--limit <count>', 'maximum number of jobs', wholeNumber, 50)
    .action((options: { partner?: string; all?: boolean; limit: number }, command: Command) =>
      run.readOnly(command, async (stores, config) => {
        const { partner, all = false, limit } = options;
        const jobs = await createJobInspection(stores, config).list({ partner, all, limit });
        return { json: jobs.map(listedRecord), text: listLines(jobs) };
      }),
    );
  add(job, 'show', 'show a job: phase, files, ledger, acks and what it waits for')
    .argument('<job>', 'its number', wholeNumber)
    .action((id: number, _options: object, command: Command) =>
      run.readOnly(command, async (stores, config) => {
        const inspected = await createJobInspection(stores, config).show(id);
        return { json: inspectedRecord(inspected), text: showLines(inspected) };
      }),
    );
  add(job, 'cancel', 'cancel a job: it fails with `cancelled`, and none of its data is stored')
    .argument('<job>', 'its number', wholeNumber)
    .option(...yesOption)
    .action((id: number, _options: object, command: Command) =>
      run.confirmed(command, `Cancel job ${id}? None of its data is stored.`, async (stores, config) => {
        const cancelled = await createJobInspection(stores, config).cancel(id);
        return {
          json: jobRecord(cancelled),
          text: [`job ${id} is being cancelled`],
          partner: cancelled.partner,
        };
      }),
    );
  add(job, 'retry', 'retry the merge of a stopped job; the jobs queued behind it continue')
    .argument('<job>', 'its number', wholeNumber)
    .action((id: number, _options: object, command: Command) => run(command, resume(id, 'retry')));
  add(job, 'drop', 'end a stopped job without merging the rest; its record shows which slots were merged')
    .argument('<job>', 'its number', wholeNumber)
    .option(...yesOption)
    .action((id: number, _options: object, command: Command) =>
      run.confirmed(command, `Drop job ${id}? Slots that have not merged it never will.`, resume(id, 'drop')),
    );
}
