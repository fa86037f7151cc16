/** Counts the work of the stages, per batch, file or job, never per row. */
import { type JobDocument, JobStatus } from '../../schemas/job-documents.ts';
import type { PipelineMetrics } from './metrics.ts';
import { traceJob } from './trace-job.ts';
import type { Tracer } from './traces.ts';

export type CountWork = ReturnType<typeof countWork>;

export function countWork(metrics: PipelineMetrics, tracer: Tracer) {
  return {
    onRead: (bytes: number) => metrics.storageBytes.inc(bytes),

    onValidated({ rows, rejected }: { rows: number; rejected: Partial<Record<string, number>> }): void {
      metrics.rowsValidated.inc(rows);
      for (const reason in rejected) metrics.rowsRejected.inc({ reason }, rejected[reason]);
    },

    onHeld: (bytes: number) => metrics.heldBytes.set(bytes),
    onSpilled(bytes: number): void {
      metrics.spills.inc();
      metrics.spilledBytes.inc(bytes);
    },
    onMerged: (kind: string, seconds: number) => metrics.mergeDuration.observe({ kind }, seconds),

    onActive: (isActive: boolean) => metrics.dispatcherActive.set(isActive ? 1 : 0),
    onJobsInFlight: (change: number) => metrics.jobsInFlight.inc(change),
    onRepeated: () => metrics.jobsRepeated.inc(),
    onEnded(job: JobDocument): void {
      traceJob(tracer, job);
      const { kind, errors, createdAt, startedAt = createdAt, decidedAt = startedAt, updatedAt } = job;
      metrics.jobsEnded.inc({ kind, status: job.status === JobStatus.done ? 'done' : 'error' });
      for (const { code } of errors ?? []) metrics.jobErrors.inc({ code });
      const observe = (phase: string, from: Date, to: Date) =>
        metrics.jobDuration.observe({ kind, phase }, Math.max(0, to.getTime() - from.getTime()) / 1_000);
      observe('waiting', createdAt, startedAt);
      observe('loading', startedAt, decidedAt);
      observe('merging', decidedAt, updatedAt);
      observe('total', createdAt, updatedAt);
    },
  };
}
