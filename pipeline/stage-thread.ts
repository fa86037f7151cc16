/** One thread of the pipeline: its stages and its own clients. worker.ts starts and stops it. */
import { parentPort, workerData } from 'node:worker_threads';
import { type ConfigOf, parseConfig } from '../schemas/config.ts';
import type { StageName } from '../schemas/stages.ts';
import { requireKnownJobs } from './accept/jobs-in-kafka.ts';
import { createReadDryRun } from './dry-runs/read-dry-run.ts';
import { startDryRuns } from './dry-runs/run-dry-runs.ts';
import { createSpendBytes } from './dry-runs/spend-bytes.ts';
import { type Consumption, consume } from './engine/consume.ts';
import { requireKnownPoints } from './engine/fault-points.ts';
import { createRetry } from './engine/retry.ts';
import { answerQuestions } from './engine/threads.ts';
import { faultPoints } from './fault-points.ts';
import { warnOfTopics } from './kafka/check-topics.ts';
import { requireBrokers } from './kafka/cluster.ts';
import { createMember } from './kafka/group-member.ts';
import { createHandledOffsets } from './kafka/handled-offsets.ts';
import { createPublisher } from './kafka/publish.ts';
import { createLagReader } from './kafka/read-lag.ts';
import { ensureTopics, topicName } from './kafka/topics.ts';
import { StartRefused } from './runtime/errors.ts';
import { createLogger } from './runtime/log.ts';
import { createPipelineMetrics, reasonOf } from './runtime/metrics.ts';
import { createTracer } from './runtime/traces.ts';
import { createDeviceSets } from './sets/device-sets.ts';
import { createPlacementReader } from './sets/placement.ts';
import { createJobSources } from './sources/job-sources.ts';
import { createCounterStore } from './stores/counters.ts';
import { createCrashStore } from './stores/crashes.ts';
import { ensureIndexes } from './stores/indexes.ts';
import { createJobStore } from './stores/jobs/jobs.ts';
import { createKeyHints } from './stores/key-hints.ts';
import { connectMongo, requireReplicaSet, SERVICE_WAITS_MS } from './stores/mongo.ts';
import { createStores } from './stores/stores.ts';
import { createTopology } from './topology.ts';

export interface ThreadData {
  stages: readonly StageName[];
  /** Only the first thread logs warnings that concern all of them. */
  isFirst: boolean;
}

export interface ThreadHealth {
  kafka: boolean;
  mongodb: boolean;
  stages: boolean;
}

async function runStages(config: ConfigOf<'pipeline'>, { stages, isFirst }: ThreadData): Promise<void> {
  requireKnownPoints(Object.values(faultPoints).flat());
  const log = createLogger(config, 'pipeline');
  const metrics = createPipelineMetrics();
  const onRetry = (error: unknown) => metrics.retries.inc({ reason: reasonOf(error) });
  const retry = createRetry(log, { onRetry });
  const tracer = createTracer(config, 'headrace-pipeline', log);
  const mongo = await connectMongo(config, SERVICE_WAITS_MS);
  const publisher = createPublisher(config, log, { metrics });
  const sources = createJobSources(config, mongo.db, log, onRetry);
  const lags = createLagReader(config, log);
  const handledOffsets = createHandledOffsets(config);
  const consumptions: Pick<Consumption, 'stop'>[] = [];
  const readsStorage = stages.includes('dispatch') || stages.includes('split');
  let ready = false;

  const onFatal = answerQuestions(parentPort!, {
    async health(): Promise<ThreadHealth> {
      const [kafka, mongodb] = await Promise.all([
        publisher.check(),
        mongo.db.command({ ping: 1 }).then(
          () => true,
          () => false,
        ),
      ]);
      return { kafka, mongodb, stages: ready };
    },
    /** Checked separately: slow storage must not delay the other checks. */
    storage: () => (readsStorage ? sources.probe.isReadable() : Promise.resolve(true)),
    metrics: () => metrics.read(),
    async stop() {
      await Promise.all(consumptions.map((consumption) => consumption.stop()));
      sources.close();
      await lags.close();
      await publisher.close();
      await mongo.close();
      await tracer.close();
    },
  });
  process.on('unhandledRejection', onFatal);

  const reach = createRetry(log, { onRetry, when: (error) => !(error instanceof StartRefused) });
  await reach('reach Kafka', () => requireBrokers(config, log));
  const partitions = await reach('reach Kafka', () => ensureTopics(config, log));
  await reach('reach Kafka', () => publisher.connect());
  if (isFirst) await warnOfTopics(config, log);
  await reach('reach MongoDB', () => requireReplicaSet(mongo));
  await reach('compare Kafka and MongoDB', () => requireKnownJobs(config, log, createJobStore(mongo.db)));
  if (readsStorage) await sources.probe.requireBucket();
  await reach('reach MongoDB', () => ensureIndexes(mongo.db).catch(mongo.fail));
  const counters = createCounterStore(mongo.db);
  await retry('compare the number of slots', () => counters.keepSlotCount(config.slots));
  await retry('compare the number of partitions', () =>
    counters.keepPartitionCount(topicName(config, 'devices'), partitions.devices),
  );

  const { hash: hashDevice } = await reach('read the placement key', createPlacementReader(mongo.db));

  const topology = createTopology({
    config,
    db: mongo.db,
    log,
    publisher,
    lags,
    handledOffsets,
    sources,
    metrics,
    tracer,
    hashDevice,
    partitions,
    onFatal,
  });
  const crashes = createCrashStore(mongo.db);
  const { recordReason } = createJobStore(mongo.db);
  const run = async (name: StageName) => {
    const stage = topology[name]();
    const consumption = consume(stage, {
      member: createMember(config, log.child({ stage: name }), stage),
      log,
      publisher,
      retry,
      crashes,
      recordReason,
      metrics,
      tracer,
      onHandled: handledOffsets.reporter(name),
      onFatal,
    });
    consumptions.push(consumption);
    metrics.onRead([], () => metrics.lagSeconds.set({ stage: name }, consumption.lagSeconds()));
    await consumption.joined;
  };
  await Promise.all(stages.map(run));
  // Exported by the active dispatcher only, so that nothing is counted twice.
  metrics.onRead([metrics.lagMessages], async () => {
    const { values } = await metrics.dispatcherActive.get();
    metrics.lagMessages.reset();
    if (values[0]!.value === 1)
      for (const [stage, messages] of await lags.read()) metrics.lagMessages.set({ stage }, messages);
  });
  if (stages.includes('split')) {
    const stores = createStores(mongo.db);
    const spendBytes = createSpendBytes({ ...config, ...stores, retry });
    const keyHints = createKeyHints(stores);
    const read = createReadDryRun({ ...config, ...stores.contexts, ...sources, keyHints, spendBytes });
    consumptions.push(startDryRuns({ log, dryRuns: stores.dryRuns, sets: createDeviceSets(mongo.db), read }));
  }
  ready = true;
  log.info({ stages, partitions }, 'ready');
}

// Thrown outside the promise: worker.ts then receives the original error, not an unhandled rejection.
runStages(parseConfig(process.env, 'pipeline'), workerData as ThreadData).catch((error: unknown) =>
  queueMicrotask(() => {
    throw error;
  }),
);
