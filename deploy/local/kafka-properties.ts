export interface BrokerAt {
  readonly node: number;
  readonly host: string;
  readonly port: number;
  /** The advertised port; by default the one it listens on. */
  readonly advertised?: number;
  /** The ports of all controllers, by node. */
  readonly controllers: readonly number[];
  readonly logs: string;
  /** Secure stacks only: the port for clients with certificates, and the settings of the listeners. */
  readonly secure?: { readonly sslPort: number; readonly settings: Readonly<Record<string, string>> };
}

/**
 * For clusters only: fast failover, and leaders that return to their preferred brokers. No controlled shutdown: all brokers stop
 * together, and the last one would wait for a lost quorum.
 */
const ofCluster = {
  'controlled.shutdown.enable': false,
  'broker.session.timeout.ms': 4_000,
  'leader.imbalance.check.interval.seconds': 5,
};

/** Small and quick to start; all other settings are Kafka's defaults. */
export function kafkaSettings(at: BrokerAt): Record<string, string | number | boolean> {
  const replicas = at.controllers.length;
  const inSync = Math.max(1, replicas - 1);
  const clients = at.secure ? 'SASL_SSL' : 'PLAINTEXT';
  const ssl = at.secure ? [`SSL://${at.host}:${at.secure.sslPort}`] : [];
  const controller = `CONTROLLER://127.0.0.1:${at.controllers[at.node - 1]}`;
  const voters = at.controllers.map((port, i) => `${i + 1}@127.0.0.1:${port}`);
  return {
    'process.roles': 'broker,controller',
    'node.id': at.node,
    // Static voters, read at every start: the controllers' ports may have changed since the last one.
    'controller.quorum.voters': voters.join(),
    'controller.listener.names': 'CONTROLLER',
    'inter.broker.listener.name': 'PLAINTEXT',
    'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
    listeners: [`${clients}://${at.host}:${at.port}`, ...ssl, controller].join(),
    'advertised.listeners': [`${clients}://127.0.0.1:${at.advertised ?? at.port}`, ...ssl].join(),
    ...at.secure?.settings,
    'log.dirs': at.logs,
    'auto.create.topics.enable': false,
    'default.replication.factor': replicas,
    'min.insync.replicas': inSync,
    'message.max.bytes': 2 * 1024 * 1024,
    'replica.fetch.max.bytes': 2 * 1024 * 1024,
    'offsets.topic.num.partitions': 4,
    'offsets.topic.replication.factor': replicas,
    'transaction.state.log.num.partitions': 1,
    'transaction.state.log.replication.factor': replicas,
    'transaction.state.log.min.isr': inSync,
    'share.coordinator.state.topic.num.partitions': 1,
    'share.coordinator.state.topic.replication.factor': replicas,
    'share.coordinator.state.topic.min.isr': inSync,
    // With one process per group, waiting for more members only delays the start.
    'group.initial.rebalance.delay.ms': 0,
    // Lets HEADRACE_SESSION_TIMEOUT_MS be shorter than the default minimum of 6 s.
    'group.min.session.timeout.ms': 1_000,
    // A start waits for the next heartbeat, which by default comes every 2 s.
    'broker.heartbeat.interval.ms': 500,
    'num.network.threads': 2,
    'num.io.threads': 4,
    'background.threads': 2,
    'log.cleaner.dedupe.buffer.size': 16 * 1024 * 1024,
    'log.segment.bytes': 256 * 1024 * 1024,
    ...(replicas > 1 ? ofCluster : {}),
  };
}

export function asProperties(settings: Record<string, string | number | boolean>): string {
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`);
  return lines.join('');
}

/** Logs to standard output, which goes to the log file in the state folder; no shutdown hook, so that the shutdown is logged too. */
export const logProperties = `status = error
shutdownHook = disable
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d %p %m (%c)%n
rootLogger.level = info
rootLogger.appenderRef.out.ref = out
logger.config.name = org.apache.kafka.common.config.AbstractConfig
logger.config.level = warn
logger.storage.name = kafka.log
logger.storage.level = warn
`;
