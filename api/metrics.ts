/** Metrics for operators, on a port of their own that partners cannot reach. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

export function createMetrics() {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 100 });
  const registers = [registry];
  return {
    registry,
    requests: new Histogram({
      name: 'headrace_http_request_duration_seconds',
      help: 'Time from the arrival of a request to the end of its response',
      labelNames: ['method', 'route', 'status'] as const,
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
      registers,
    }),
    jobs: new Counter({
      name: 'headrace_jobs_queued_total',
      help: 'Jobs accepted and published',
      labelNames: ['kind'] as const,
      registers,
    }),
    streams: new Gauge({
      name: 'headrace_event_streams',
      help: 'Open streams of server-sent events',
      registers,
    }),
    publish: new Histogram({
      name: 'headrace_publish_duration_seconds',
      help: 'Time to publish a batch of accepted jobs',
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
      registers,
    }),
    deliveries: new Counter({
      name: 'headrace_webhook_deliveries_total',
      help: 'Attempts to deliver an event to a webhook, by outcome: delivered, retried or failed',
      labelNames: ['outcome'] as const,
      registers,
    }),
    compositions: new Histogram({
      name: 'headrace_composition_duration_seconds',
      help: 'Time to compute the composition report of an audience',
      buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
      registers,
    }),
  };
}
/** Asked for when the metrics are read. If MongoDB does not answer, the last value stays. */
export function measureOldestDelivery({ registry }: Metrics, seconds: () => Promise<number>): void {
  new Gauge({
    name: 'headrace_webhook_oldest_pending_seconds',
    help: 'For how long the oldest pending delivery to a webhook has been pending, over all processes',
    registers: [registry],
    async collect() {
      await seconds().then(
        (age) => this.set(age),
        () => {},
      );
    },
  });
}
export type Metrics = ReturnType<typeof createMetrics>;
