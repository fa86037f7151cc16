/** The progress of a job, as dispatch records it. */
import type { JobStore } from '../../pipeline/stores/jobs/jobs.ts';
import type { Config } from '../../schemas/config.ts';
import { progress } from '../../schemas/http-progress.ts';
import { type JobDocument, JobStatus } from '../../schemas/job-documents.ts';
import { notFound } from '../http/problem.ts';
import { json, tagged } from '../http/responses.ts';
import { createSharedReads } from '../http/shared-reads.ts';

const shownInProgress = {
  kind: 1,
  partner: 1,
  audience: 1,
  generation: 1,
  phase: 1,
  status: 1,
  fileCount: 1,
  filesDone: 1,
  rows: 1,
  bytes: 1,
  bytesDone: 1,
  createdAt: 1,
  listingAt: 1,
  startedAt: 1,
  decidedAt: 1,
  updatedAt: 1,
} as const;
type JobInProgress = Pick<JobDocument, '_id' | keyof typeof shownInProgress>;

export interface Place {
  jobsAhead: number;
  /** A clear has cancelled it, although dispatch has not reached it yet. */
  isCancelled: boolean;
}

function phaseOf({ kind, phase, status }: JobInProgress, { jobsAhead, isCancelled }: Place) {
  if (phase === 'ended') return status === JobStatus.error ? 'failed' : 'done';
  if (isCancelled) return 'failed';
  if (phase === 'decided') return 'merging';
  if (phase === 'listed') return 'loading';
  return jobsAhead === 0 && kind !== 'delete' ? 'listing' : 'waiting';
}

/** When everything was read, or now. */
const readUntil = ({ phase, decidedAt, updatedAt }: JobInProgress, now: number) =>
  phase === 'decided' || phase === 'ended' ? (decidedAt ?? updatedAt).getTime() : now;

function bytesDoneOf(job: JobInProgress): number {
  const isDecided = job.phase === 'decided' || job.phase === 'ended';
  const isReadWhole = isDecided && job.filesDone === job.fileCount;
  return (isReadWhole ? job.bytes : job.bytesDone) ?? 0;
}

export function toProgress(job: JobInProgress, place: Place, now = Date.now()) {
  const { bytes = null, startedAt = null } = job;
  const bytesDone = bytesDoneOf(job);
  const phase = phaseOf(job, place);
  // Clock skew between dispatch and API: better no rate than a wrong one.
  const elapsedMs = startedAt ? Math.max(0, readUntil(job, now) - startedAt.getTime()) : 0;
  const isMeasured = elapsedMs > 0 && job.rows > 0 && job.kind !== 'delete';
  const canEstimate = phase === 'loading' && place.jobsAhead === 0 && elapsedMs > 0 && bytesDone > 0;
  return {
    phase,
    status: place.isCancelled ? JobStatus.error : job.status,
    jobs_ahead: place.jobsAhead,
    files: job.phase === 'accepted' || job.kind === 'delete' ? null : job.fileCount,
    files_done: job.filesDone,
    rows: job.rows,
    bytes,
    bytes_done: bytesDone,
    rows_per_second: isMeasured ? Math.round((job.rows * 1_000) / elapsedMs) : null,
    created_at: job.createdAt,
    listing_at: job.listingAt ?? null,
    started_at: startedAt,
    loaded_at: job.decidedAt ?? null,
    ended_at: job.phase === 'ended' ? job.updatedAt : null,
    estimated_end_at: canEstimate
      ? new Date(startedAt!.getTime() + (elapsedMs * Math.max(bytes!, bytesDone)) / bytesDone)
      : null,
  };
}

/** The caller's job and its place in its lane. Pages poll every second, so concurrent reads are shared. */
export function createReadProgress({ jobs, order }: { jobs: JobStore; order: Config['order'] }) {
  const readJob = createSharedReads(async (id) => {
    const job = await jobs.findShown(Number(id), shownInProgress);
    if (!job || job.phase === 'withdrawn') return null;
    const ahead = job.phase === 'ended' ? undefined : await jobs.countAhead([job], order);
    return { job, jobsAhead: ahead?.get(job._id) ?? 0 };
  });
  return async (id: number, isTheirs: (job: JobInProgress) => boolean) => {
    const found = await readJob(String(id));
    if (!found || !isTheirs(found.job)) throw notFound();
    return found;
  };
}

/** Its OpenAPI description, shared by imports and loads. */
export const describedProgress = {
  description:
    'Phase, rows and bytes done, jobs ahead in the queue, and an estimated end. Poll at most once per second.',
  responses: tagged(json(progress, 'The progress')),
};
