/** Builds the metrics declared in schemas/metrics.ts, and reads them for each scrape. */
import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { type DeclaredMetric, pipelineMetrics } from '../../schemas/metrics.ts';
import { withDeadline } from './deadline.ts';

type Label<D extends DeclaredMetric> = D['labels'][number];
type Built<D extends DeclaredMetric> = D['type'] extends 'counter'
  ? Counter<Label<D>>
  : D['type'] extends 'gauge'
    ? Gauge<Label<D>>
    : Histogram<Label<D>>;

const LOOK_MS = 2_000;

export type Metrics<D extends Record<string, DeclaredMetric>> = { [K in keyof D]: Built<D[K]> } & {
  registry: Registry;
  /** Runs `look` before every scrape. If it fails or times out, `gauges` are reset instead of showing a stale value. */
  onRead(gauges: { reset(): void }[], look: () => Promise<void> | void): void;
  read(): ReturnType<Registry['getMetricsAsJSON']>;
};

function build(declared: DeclaredMetric, registry: Registry) {
  const { name, help, labels, across } = declared;
  const options = { name, help, labelNames: [...labels], registers: [registry] };
  if (declared.type === 'counter') return new Counter(options);
  if (declared.type === 'gauge') return new Gauge({ ...options, ...(across ? { aggregator: across } : {}) });
  return new Histogram({ ...options, buckets: [...declared.buckets!] });
}

export function createMetrics<D extends Record<string, DeclaredMetric>>(declared: D): Metrics<D> {
  const registry = new Registry();
  const looks: (() => Promise<void>)[] = [];
  const metrics = Object.fromEntries(
    Object.entries(declared).map(([key, metric]) => [key, build(metric, registry)]),
  );
  return Object.assign(metrics as { [K in keyof D]: Built<D[K]> }, {
    registry,
    onRead(gauges: { reset(): void }[], look: () => Promise<void> | void) {
      looks.push(async () => {
        try {
          await withDeadline(LOOK_MS, Promise.resolve(look()));
        } catch {
          for (const gauge of gauges) gauge.reset();
        }
      });
    },
    async read() {
      await Promise.all(looks.map((look) => look()));
      return registry.getMetricsAsJSON();
    },
  });
}

/** CPU, memory and event loop. */
export function addDefaultMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 100 });
  // Every thread reports the whole process: do not sum these.
  for (const metric of registry.getMetricsAsArray())
    if (metric.name.startsWith('process_')) Object.assign(metric, { aggregator: 'first' });
}

/** Merges the registries of this and other threads into one page. */
export async function readAll(readers: { read(): Promise<object[]> }[]): Promise<Registry> {
  return AggregatorRegistry.aggregate(await Promise.all(readers.map((reader) => reader.read())));
}

export type PipelineMetrics = Metrics<typeof pipelineMetrics>;

/** One registry per thread. */
export function createPipelineMetrics(): PipelineMetrics {
  const metrics = createMetrics(pipelineMetrics);
  addDefaultMetrics(metrics.registry);
  return metrics;
}

/** An error's code or name as a label of low cardinality. */
export function reasonOf(error: unknown): string {
  const { codeName, code, type, name } = error as Record<string, unknown>;
  const text = [codeName, code, type, name].find((value) => typeof value === 'string' && value !== '');
  return typeof text === 'string' ? text : 'unknown';
}
