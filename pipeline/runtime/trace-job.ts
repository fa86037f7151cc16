/** The spans of a job: children of the accepting request, parents of the stages' spans. */
import { type JobDocument, JobStatus } from '../../schemas/job-documents.ts';
import { childOf, isTraced, type Tracer } from './traces.ts';

/** Headers for messages about the job; empty if it is not traced. */
export function jobHeaders({ traceparent }: Pick<JobDocument, 'traceparent'>) {
  return isTraced(traceparent) ? { headers: { traceparent: childOf(traceparent, 'job') } } : {};
}

/** Call it when the job has ended: only then are all of its times known. */
export function traceJob(tracer: Tracer, job: JobDocument): void {
  const { traceparent, kind, createdAt, startedAt = createdAt, decidedAt = startedAt, updatedAt } = job;
  if (!isTraced(traceparent)) return;
  const context = childOf(traceparent, 'job');
  const whole = { name: `job ${kind}`, kind: 'consumer' as const, context, parent: traceparent };
  tracer.record({
    ...whole,
    start: createdAt.getTime(),
    end: updatedAt.getTime(),
    attributes: { job: job._id, partner: job.partner, files: job.fileCount, rows: job.rows },
    failed: job.status === JobStatus.error,
  });
  const phase = (name: string, from: Date, to: Date) =>
    tracer.record({
      name,
      kind: 'internal',
      context: childOf(context, name),
      parent: context,
      start: from.getTime(),
      end: to.getTime(),
    });
  phase('waiting', createdAt, startedAt);
  phase('loading', startedAt, decidedAt);
  phase('merging', decidedAt, updatedAt);
}
