/** `headrace admin job …`: for a stuck queue. */
import type { Command } from 'commander';
import { bytes, count, plural } from '../../../../api/client/format.ts';
import type { JobDocument } from '../../../../schemas/job-documents.ts';
import type { Environments } from '../../commands.ts';
import { statusNames, wholeNumber } from '../../parse-options.ts';
import { type Columns, none, when } from '../../show.ts';
import { createJobInspection, type InspectedJob, type ListedJob } from '../inspect-jobs.ts';
import { type AdminContext, adminCommands, type Outcome } from '../runner.ts';
import { list } from '../views.ts';

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

const columns: Columns<ListedJob> = {
  JOB: ({ job }) => String(job._id),
  KIND: ({ job }) => job.kind,
  PARTNER: ({ job }) => job.partner,
  AHEAD: ({ jobsAhead }) => jobsAhead ?? none,
  PHASE: ({ job }) => phaseOf(job),
  STATUS: ({ job }) => statusNames[job.status],
  FILES: ({ job }) => `${count(job.filesDone)} of ${count(job.fileCount)}`,
  ROWS: ({ job }) => job.rows,
  'LAST CHANGE': ({ job }) => when(job.updatedAt),
  PATH: ({ job }) => job.filePath,
};

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
  const add = adminCommands(environments);
  const job = admin.command('job').description('list, inspect, cancel, retry and drop jobs');
  const inspection = (context: AdminContext) => createJobInspection(context, context.config);
  const outcomeOf = (changed: JobDocument, what: string): Outcome => ({
    json: jobRecord(changed),
    text: [`job ${changed._id} is being ${what}`],
    partner: changed.partner,
  });
  add(job, 'list', 'list unfinished jobs, oldest first, and how many are ahead of each in its lane')
    .option('--partner <id>', 'only jobs of this partner')
    .option('--all', 'include ended jobs; newest first')
    .option('--limit <count>', 'maximum number of jobs', wholeNumber, 50)
    .reads(
      async (
        context,
        { partner, all = false, limit }: { partner?: string; all?: boolean; limit: number },
      ) => {
        const jobs = await inspection(context).list({ partner, all, limit });
        return { json: jobs.map(listedRecord), text: list(jobs, columns, 'no unfinished jobs') };
      },
    );
  add(job, 'show', 'show a job: phase, files, ledger, acks and what it waits for')
    .argument('<job>', 'its number', wholeNumber)
    .reads(async (context, id: number) => {
      const inspected = await inspection(context).show(id);
      return { json: inspectedRecord(inspected), text: showLines(inspected) };
    });
  add(job, 'cancel', 'cancel a job: it fails with `cancelled`, and none of its data is stored')
    .argument('<job>', 'its number', wholeNumber)
    .confirms((id) => `Cancel job ${id}? None of its data is stored.`)
    .changes(async (context, id: number) => outcomeOf(await inspection(context).cancel(id), 'cancelled'));
  add(job, 'retry', 'retry the merge of a stopped job; the jobs queued behind it continue')
    .argument('<job>', 'its number', wholeNumber)
    .changes(async (context, id: number) =>
      outcomeOf(await inspection(context).resume(id, 'retry'), 'retried'),
    );
  add(job, 'drop', 'end a stopped job without merging the rest; its record shows which slots were merged')
    .argument('<job>', 'its number', wholeNumber)
    .confirms((id) => `Drop job ${id}? Slots that have not merged it never will.`)
    .changes(async (context, id: number) =>
      outcomeOf(await inspection(context).resume(id, 'drop'), 'dropped'),
    );
}
