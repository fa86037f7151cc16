/** Metrics of a pipeline process. */
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';

export type PipelineMetrics = ReturnType<typeof createPipelineMetrics>;

export function createPipelineMetrics() {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 100 });
  // Every thread reports the whole process, so these must not be summed.
  for (const metric of registry.getMetricsAsArray())
    if (metric.name.startsWith('process_')) Object.assign(metric, { aggregator: 'first' });
  return {
    registry,
    rows: new Counter({
      name: 'headrace_rows_validated_total',
      help: 'Data rows read by validate.',
      registers: [registry],
    }),
    stageSeconds: new Counter({
      name: 'headrace_stage_seconds_total',
      help: 'Time during which a stage had messages in flight, including waits, summed over partitions.',
      labelNames: ['stage'],
      registers: [registry],
    }),
    jobs: new Counter({
      name: 'headrace_jobs_ended_total',
      help: 'Jobs that this dispatcher has ended, by status.',
      labelNames: ['status'],
      registers: [registry],
    }),
    jobsUnderWay: new Gauge({
      name: 'headrace_jobs_under_way',
      help: 'Jobs in flight: started and not yet ended.',
      registers: [registry],
    }),
  };
}
