/** Metrics of the API for operators, on a port of their own that partners cannot reach. */
import {
  addDefaultMetrics,
  createMetrics as build,
  type Metrics as Of,
} from '../../pipeline/runtime/metrics.ts';
import type { JobStore } from '../../pipeline/stores/jobs/jobs.ts';
import { apiMetrics } from '../../schemas/metrics.ts';

export type Metrics = Of<typeof apiMetrics>;

export function createMetrics(): Metrics {
  const metrics = build(apiMetrics);
  addDefaultMetrics(metrics.registry);
  return metrics;
}

const MAX_LOOK_MS = 1_500;

/** Unfinished jobs, read at each scrape: shows the backlog even if no pipeline runs. */
export function exportJobs(
  metrics: Metrics,
  jobs: Pick<JobStore, 'unfinishedByPhase' | 'countStopped'>,
): void {
  metrics.onRead([metrics.jobsStopped], async () =>
    metrics.jobsStopped.set(await jobs.countStopped(MAX_LOOK_MS)),
  );
  metrics.onRead([metrics.jobs, metrics.oldestJobAge], async () => {
    for (const { phase, count, oldest } of await jobs.unfinishedByPhase(MAX_LOOK_MS)) {
      metrics.jobs.set({ phase }, count);
      const ageMs = oldest ? Date.now() - oldest.getTime() : 0;
      metrics.oldestJobAge.set({ phase }, Math.max(0, ageMs) / 1_000);
    }
  });
}

export function exportOldestDelivery(metrics: Metrics, seconds: () => Promise<number>): void {
  metrics.onRead([metrics.oldestDelivery], async () => metrics.oldestDelivery.set(await seconds()));
}

const DAY_MS = 86_400_000;

/** DROP sessions are short-lived commands, so the API exports their metrics. If none was ever completed, one is due. */
export function exportDrop(
  metrics: Metrics,
  summary: () => Promise<{ last: Date | undefined; open: number; rejected: number }>,
  { dropUrl, dropDays }: { dropUrl?: string | undefined; dropDays: number },
): void {
  if (dropUrl === undefined) return;
  const { dropDue, dropAge, dropOpen, dropRejected } = metrics;
  metrics.onRead([dropDue, dropAge, dropOpen, dropRejected], async () => {
    const { last, open, rejected } = await summary();
    const ageMs = last && Date.now() - last.getTime();
    if (ageMs !== undefined) dropAge.set(ageMs / 1_000);
    dropDue.set(ageMs === undefined ? 0 : (dropDays * DAY_MS - ageMs) / 1_000);
    dropOpen.set(open);
    dropRejected.set(rejected);
  });
}
