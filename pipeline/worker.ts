/** `headrace pipeline`: runs the stages of topology.ts, all of them or those asked for, until a signal or a fatal error. */
import type { Config } from '../schemas/config.ts';
import { type Consumption, consume } from './runtime/consume.ts';
import { createReadiness, serveHealth } from './runtime/health.ts';
import { createPublisher, ensureTopics } from './runtime/kafka.ts';
import { createLogger } from './runtime/log.ts';
import { createPipelineMetrics } from './runtime/metrics.ts';
import { connectMongo, ensurePipelineIndexes } from './runtime/mongo.ts';
import { createRetry } from './runtime/retry.ts';
import { createShutdown } from './runtime/shutdown.ts';
import { createDeviceSets } from './sets/device-sets.ts';
import { createJobSources } from './sources/job-sources.ts';
import { createTopology, type StageName, stageNames } from './topology.ts';

export class UnknownStage extends Error {}

export async function runPipeline(config: Config, only?: string[]): Promise<void> {
  const unknown = only?.filter((name) => !(stageNames as readonly string[]).includes(name)) ?? [];
  if (unknown.length > 0)
    throw new UnknownStage(`no stage ${unknown.join(', ')}: there are ${stageNames.join(', ')}`);
  const chosen = (only ?? stageNames) as readonly StageName[];

  const log = createLogger(config, 'pipeline');
  const retry = createRetry(log);
  const shutdown = createShutdown(log, config.shutdownMs);
  const onFatal = (error: unknown) => shutdown.stop('a stage failed', error);
  const metrics = createPipelineMetrics();
  const mongo = await connectMongo(config);
  const publisher = createPublisher(config, log);
  const consumptions: Consumption[] = [];
  let ready = false;

  const readiness = createReadiness([
    { name: 'kafka', check: () => publisher.check() },
    { name: 'mongodb', check: () => mongo.db.command({ ping: 1 }).then(() => true) },
    { name: 'stages', check: async () => ready },
  ]);
  const health = await serveHealth(
    { host: config.pipelineHost, port: config.pipelinePort },
    readiness,
    metrics.registry,
  );
  log.info({ health: health.address(), stages: chosen }, 'starting');

  // In flow order: what feeds the next stage stops first.
  shutdown.add('stages', () => Promise.all(consumptions.map((consumption) => consumption.stop())));
  const sources = createJobSources(config, mongo.db);
  shutdown.add('sources', () => sources.close());
  shutdown.add('publisher', () => publisher.close());
  shutdown.add('mongodb', () => mongo.close());
  shutdown.add('health', () => health.close());

  const reach = <T>(what: string, attempt: () => Promise<T>) =>
    retry(what, () =>
      attempt().catch((cause: Error) => {
        throw Object.assign(new Error(`${what}: ${cause.message}`, { cause }), { retriable: true });
      }),
    );
  const partitions = await reach('reach Kafka', async () => {
    await publisher.connect();
    return ensureTopics(config, log);
  });
  await reach('reach MongoDB', () => ensurePipelineIndexes(mongo.db));
  await reach('reach MongoDB', () => createDeviceSets(mongo.db).ensureIndexes());

  const topology = createTopology({
    config,
    db: mongo.db,
    log,
    retry,
    publisher,
    sources,
    metrics,
    partitions,
    onFatal,
  });
  const onHandled = (stage: string, seconds: number) => metrics.stageSeconds.inc({ stage }, seconds);
  const run = async (name: StageName) => {
    const consumption = await consume(topology[name](), {
      config,
      log,
      publisher,
      retry,
      onHandled,
      onFatal,
    });
    consumptions.push(consumption);
    await consumption.joined;
  };
  await Promise.all(chosen.map(run));
  ready = true;
  log.info({ stages: chosen, partitions }, 'ready');
}
