/** The API as a process: connects, listens, and stops in flow order. */

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { requireKnownJobs } from '../pipeline/accept/jobs-in-kafka.ts';
import { requireKnownPoints } from '../pipeline/engine/fault-points.ts';
import { createRetry } from '../pipeline/engine/retry.ts';
import { createShutdown } from '../pipeline/engine/shutdown.ts';
import { warnOfTopics } from '../pipeline/kafka/check-topics.ts';
import { requireBrokers } from '../pipeline/kafka/cluster.ts';
import { createPublisher } from '../pipeline/kafka/publish.ts';
import { ensureTopics } from '../pipeline/kafka/topics.ts';
import { StartRefused } from '../pipeline/runtime/errors.ts';
import { createProcessMetrics } from '../pipeline/runtime/health.ts';
import { createLogger, type Logger } from '../pipeline/runtime/log.ts';
import { createLogLines } from '../pipeline/runtime/log-lines.ts';
import { readAll } from '../pipeline/runtime/metrics.ts';
import { createTracer } from '../pipeline/runtime/traces.ts';
import { ensureIndexes } from '../pipeline/stores/indexes.ts';
import { connectMongo, requireReplicaSet } from '../pipeline/stores/mongo.ts';
import type { ConfigOf } from '../schemas/config.ts';
import { createBodies } from '../schemas/http.ts';
import { createApp } from './app.ts';
import { createKnownPartners } from './auth/known.ts';
import { readinessOf } from './describe/service-operations.ts';
import { answerClientError, limitConnections, timeoutsOf } from './http/connections.ts';
import { createMetrics, exportDrop, exportJobs, exportOldestDelivery } from './http/metrics.ts';
import { createAcceptQueue } from './jobs/accept-queue.ts';
import { createDailyQuota } from './jobs/daily-quota.ts';
import { apiPoints, webhookPoints } from './jobs/fault-points.ts';
import { createPendingJobs } from './jobs/pending-jobs.ts';
import { createComposer } from './resources/composition/composer.ts';
import { createCompositionReports } from './resources/composition/reports.ts';
import { createEventHub } from './resources/events/hub.ts';
import { createRenderEvents } from './resources/events/render-events.ts';
import { startWebhooks } from './resources/webhooks/webhooks.ts';
import { createApiStores } from './stores/api-stores.ts';

/** The message names the setting to change. */
const listen = (server: Server, port: number, host: string, setting: string) =>
  new Promise<AddressInfo>((resolve, reject) => {
    const refuse = (error: NodeJS.ErrnoException) => {
      const why = error.code === 'EADDRINUSE' ? 'is already in use' : `is not available (${error.code})`;
      reject(new StartRefused(`port ${port} on ${host} ${why}: set ${setting} to another port`));
    };
    server.once('error', refuse);
    server.listen(port, host, () => {
      server.off('error', refuse);
      resolve(server.address() as AddressInfo);
    });
  });

/** Stops accepting connections, and waits for the requests in flight. */
const finish = (server: Server) =>
  new Promise<void>((resolve) => {
    // An idle keep-alive connection would delay the shutdown until it times out.
    const sweep = setInterval(() => server.closeIdleConnections(), 50);
    server.close(() => {
      clearInterval(sweep);
      resolve();
    });
  });

export interface StartedApi {
  readonly url: string;
  readonly metricsUrl: string;
  /** Resolves when Kafka and MongoDB are connected; rejects on a permanent error. */
  readonly connected: Promise<void>;
  /** The steps to stop, in this order. */
  readonly stopping: readonly (readonly [string, () => Promise<unknown> | unknown])[];
}

/** Listens before its backends are up, and reports that it is not ready. */
export async function startApi(config: ConfigOf<'api'>, log: Logger): Promise<StartedApi> {
  const metrics = createMetrics();
  const tracer = createTracer(config, 'headrace-api', log);
  const mongo = await connectMongo(config);
  const publisher = createPublisher(config, log, { sendTimeoutMs: config.limitBackendMs, metrics });
  const stores = createApiStores(mongo.db, config);
  exportJobs(metrics, stores.jobs);
  exportDrop(metrics, stores.drop.summary, config);
  exportOldestDelivery(metrics, () => stores.deliveries.oldestPendingSeconds());
  const queue = createAcceptQueue({
    ...stores,
    publisher,
    log,
    limitMs: config.limitBackendMs,
    onPublished(jobs) {
      for (const { kind } of jobs) metrics.jobsQueued.inc({ kind });
    },
  });
  const knownPartners = createKnownPartners(stores.partners);
  const pending = createPendingJobs(stores.jobs);
  const dailyQuota = createDailyQuota(stores.usage, stores.jobs);
  const bodies = createBodies({ pathBytes: config.limitPathBytes, keys: config.limitKeys });
  const ping = async () => (await mongo.db.command({ ping: 1 })).ok === 1;
  const compositionReports = createCompositionReports({
    ...stores,
    composer: createComposer({ onFailure: () => metrics.composerFailures.inc() }),
    metrics,
    log,
  });
  const events = createEventHub({ ...stores, render: createRenderEvents(stores, config.privacyFloor), log });
  const koa = createApp({
    ...stores,
    config,
    ping,
    publisher,
    queue,
    pending,
    dailyQuota,
    knownPartners,
    compositionReports,
    events,
    bodies,
    metrics,
    tracer,
    log,
  });

  const server = createServer(timeoutsOf(config), koa.callback());
  server.on('clientError', answerClientError);
  limitConnections(server, config);
  const ofProcess = createProcessMetrics(readinessOf({ ping, publisher }));
  const metricsServer = createServer(async (request, response) => {
    if (request.url !== '/metrics') return response.writeHead(404).end();
    const registry = await readAll([ofProcess, metrics]);
    return response.writeHead(200, { 'Content-Type': registry.contentType }).end(await registry.metrics());
  });

  const api = await listen(server, config.apiPort, config.apiHost, 'HEADRACE_API_PORT');
  const metricsAt = await listen(
    metricsServer,
    config.apiMetricsPort,
    config.metricsHost,
    'HEADRACE_API_METRICS_PORT',
  );
  const url = `http://${config.apiHost}:${api.port}`;
  log.info(
    { url, metrics_port: metricsAt.port, port: api.port },
    'API listening; connecting to Kafka and MongoDB',
  );
  let webhooks: ReturnType<typeof startWebhooks> | undefined;

  /** Each step is retried until it succeeds. */
  async function connect(): Promise<void> {
    const retry = createRetry(log, {
      when: (error) => !(error instanceof StartRefused),
      firstMs: 100,
      ref: false,
    });
    const reachMongo = retry('connect to MongoDB', () => requireReplicaSet(mongo));
    await Promise.all([
      reachMongo
        .then(() => retry('create the indexes', () => ensureIndexes(mongo.db).catch(mongo.fail)))
        .then(() => retry('read the placement key', stores.sets.placement)),
      retry('reach Kafka', () => requireBrokers(config, log))
        .then(() => retry('create the topics', () => ensureTopics(config, log)))
        .then(() => reachMongo)
        // Before the publisher is connected: nothing is accepted until then.
        .then(() => retry('compare Kafka and MongoDB', () => requireKnownJobs(config, log, stores.jobs)))
        .then(() => retry('connect to Kafka', () => publisher.connect()))
        .then(() => warnOfTopics(config, log)),
    ]);
    webhooks = startWebhooks({ ...stores, config, metrics, log });
    log.info('API ready: connected to Kafka and MongoDB');
  }

  return {
    url,
    metricsUrl: `http://${config.metricsHost}:${metricsAt.port}`,
    connected: connect(),
    stopping: [
      ['end the event streams', () => events.close()],
      ['finish requests', () => finish(server)],
      ['flush the queue', () => queue.drain()],
      ['stop sending events', () => webhooks?.stop()],
      ['give up reports', () => compositionReports.stop()],
      [
        'disconnect',
        async () => {
          metricsServer.close();
          metricsServer.closeAllConnections();
          await Promise.allSettled([publisher.close(), mongo.close(), tracer.close()]);
        },
      ],
    ],
  };
}

/** `headrace api`: runs until a signal, or exits on a permanent start error. */
export async function runApi(config: ConfigOf<'api'>): Promise<void> {
  requireKnownPoints([...apiPoints, ...webhookPoints]);
  const log = createLogger(config, 'api', createLogLines());
  const shutdown = createShutdown(log, config.shutdownMs);
  const giveUp = (error: Error) => {
    log.fatal(error.message);
    process.exit(1);
  };
  const api = await startApi(config, log).catch((error: Error) => {
    if (error instanceof StartRefused) return giveUp(error);
    throw error;
  });
  for (const [name, step] of api.stopping) shutdown.add(name, step);
  await api.connected.catch(giveUp);
}
