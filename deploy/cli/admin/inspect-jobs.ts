/** Jobs for operators: progress, what each waits for, and since when. */

import type { ApiStores } from '../../../api/stores/api-stores.ts';
import { isUnfinished, laneOf } from '../../../pipeline/stores/jobs/jobs.ts';
import type { BatchCounts } from '../../../pipeline/stores/ledger.ts';
import { ProvisioningError } from '../../../pipeline/stores/partners.ts';
import type { Config } from '../../../schemas/config.ts';
import { type JobDocument, JobStatus } from '../../../schemas/job-documents.ts';

interface InspectedFile {
  number: number;
  path: string;
  size: number;
  isDispatched: boolean;
  /** The file's batches and rows in the ledger. */
  batches: number;
  rows: number;
  since: Date;
}

export interface ListedJob {
  job: JobDocument;
  lane: string;
  /** Unfinished jobs ahead of it in its lane; null if it has ended. */
  jobsAhead: number | null;
}

export interface InspectedJob extends ListedJob {
  files: { waiting: number; dispatched: number; done: number; failed: number };
  /** The first undecided files. */
  undecided: InspectedFile[];
  ledger: BatchCounts;
  /** The votes by partition, with the slots that miss devices. */
  votes: { partition: number; missing: number[] }[];
  acks: { merged: number[]; missing: number[] };
  waitsFor: string | null;
}

type EarlierJobs = Awaited<ReturnType<ApiStores['jobs']['earlierThan']>>;

const UNDECIDED_SHOWN = 20;

export function createJobInspection(
  { jobs, files, ledger, acks, votes, counters }: ApiStores,
  { order, jobWindow }: Pick<Config, 'order' | 'jobWindow'>,
) {
  const unknown = (id: number) => new ProvisioningError('unknown_job', `there is no job ${id}`);

  function waitsFor(
    job: JobDocument,
    earlier: EarlierJobs,
    seen: Pick<InspectedJob, 'files' | 'undecided' | 'acks'>,
  ) {
    if (job.stoppedAt) return 'an operator to retry or drop it: it is decided and cannot be merged';
    if (earlier.stopped !== undefined) return `job ${earlier.stopped}, which is stopped`;
    if (job.cancelRequested) return 'its cancellation by dispatch';
    if (job.phase === 'accepted') {
      if (earlier.ofAudience)
        return `job ${earlier.ofAudience}, an earlier load of the same audience, to end`;
      if (earlier.count >= jobWindow) return `job ${earlier.first} to end: ${earlier.count} jobs are ahead`;
      if (job.kind === 'delete') return 'dispatch';
      return `the storage to list its files${job.listed ? `; ${job.listed.found} so far` : ''}`;
    }
    if (job.phase === 'listed') {
      const open = seen.files.waiting + seen.files.dispatched;
      if (job.onHold) return `job ${earlier.first} to end: its files unpack to more than may be read ahead`;
      if (open > 0) return `${open} of ${job.fileCount} files, the first of them ${seen.undecided[0]?.path}`;
      return 'the sinks to confirm that they hold all of its devices';
    }
    if (seen.acks.merged.length === 0 && earlier.first !== undefined) return `job ${earlier.first} to end`;
    if (seen.acks.missing.length > 0) return `slots to merge it: ${seen.acks.missing.join(', ')}`;
    return 'dispatch to end it';
  }

  async function inspect(job: JobDocument): Promise<InspectedJob> {
    const { _id, listing = '', attempt = 0 } = job;
    const [byStatus, all, undecided, acked, voted] = await Promise.all([
      files.countByStatus(listing),
      ledger.countAll(_id, attempt),
      files.undecided(listing, 0, 0, UNDECIDED_SHOWN),
      acks.ofJob(_id),
      votes.ofAttempt(_id, attempt),
    ]);
    const numbers = undecided.map(({ number }) => number);
    const byFile = await ledger.countByFile(_id, attempt, numbers);
    const withStatus = (status: JobStatus) => byStatus.get(status) ?? 0;
    const merged = acked.map(({ slot }) => slot).sort((a, b) => a - b);
    const slots = Array.from({ length: await counters.slotCount() }, (_, slot) => slot);
    const seen = {
      files: {
        waiting: withStatus(JobStatus.pending),
        dispatched: withStatus(JobStatus.running),
        done: withStatus(JobStatus.done),
        failed: withStatus(JobStatus.error),
      },
      undecided: undecided.map(({ number, path, size, status, updatedAt }) => ({
        number,
        path,
        size,
        isDispatched: status === JobStatus.running,
        batches: byFile.get(number)?.batches ?? 0,
        rows: byFile.get(number)?.rows ?? 0,
        since: updatedAt,
      })),
      ledger: all,
      votes: voted.map(({ partition, missing }) => ({ partition, missing })),
      acks: { merged, missing: slots.filter((slot) => !merged.includes(slot)) },
    };
    const earlier = isUnfinished(job) ? await jobs.earlierThan(job, order) : null;
    return {
      job,
      lane: laneOf(job, order),
      jobsAhead: earlier?.count ?? null,
      ...seen,
      waitsFor: earlier && waitsFor(job, earlier, seen),
    };
  }

  return {
    async list(options: Parameters<typeof jobs.list>[0]): Promise<ListedJob[]> {
      const found = await jobs.list(options);
      const ahead = await jobs.countAhead(found.filter(isUnfinished), order);
      return found.map((job) => ({
        job,
        lane: laneOf(job, order),
        jobsAhead: ahead.get(job._id) ?? null,
      }));
    },

    async show(id: number): Promise<InspectedJob> {
      const job = await jobs.find(id);
      if (!job) throw unknown(id);
      return inspect(job);
    },

    async cancel(id: number): Promise<JobDocument> {
      const cancelled = await jobs.requestCancel(id);
      if (cancelled) return cancelled;
      const job = await jobs.find(id);
      if (!job) throw unknown(id);
      const why = job.phase === 'decided' ? 'is being merged' : `is ${job.phase}`;
      const instead = job.stoppedAt ? `; to end it: headrace admin job drop ${id}` : '';
      throw new ProvisioningError(
        'cannot_cancel',
        `job ${id} ${why}: it can no longer be cancelled${instead}`,
      );
    },

    /** Retries or drops a stopped job. */
    async resume(id: number, how: 'retry' | 'drop'): Promise<JobDocument> {
      const job = await jobs.resume(id, how);
      if (job) return job;
      if (!(await jobs.find(id))) throw unknown(id);
      throw new ProvisioningError('not_stopped', `job ${id} is not stopped`);
    },
  };
}
