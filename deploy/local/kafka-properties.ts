export interface BrokerAt {
  readonly node: number;
  readonly host: string;
  readonly port: number;
  /** Where clients and the other brokers find it; its port unless told. */
  readonly advertised?: number;
  /** The ports of all controllers, by node. */
  readonly controllers: readonly number[];
  readonly logs: string;
}

/** What a cluster has beside the rest: quick failover, and leaders that go back to where they were. */
const ofCluster = {
  'broker.session.timeout.ms': 4_000,
  'leader.imbalance.check.interval.seconds': 5,
};

/** Small and quick to start; what is not set here is Kafka's default. */
export function kafkaSettings(at: BrokerAt): Record<string, string | number | boolean> {
  const replicas = at.controllers.length;
  const inSync = Math.max(1, replicas - 1);
  const voters = at.controllers.map((port, i) => `${i + 1}@127.0.0.1:${port}`);
  return {
    'process.roles': 'broker,controller',
    'node.id': at.node,
    // Fixed voters, read from here at every start: the controllers' ports may differ from the last time.
    'controller.quorum.voters': voters.join(),
    'controller.listener.names': 'CONTROLLER',
    'inter.broker.listener.name': 'PLAINTEXT',
    'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
    listeners: `PLAINTEXT://${at.host}:${at.port},CONTROLLER://127.0.0.1:${at.controllers[at.node - 1]}`,
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${at.advertised ?? at.port}`,
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
    // A group of one process gains nothing by waiting for more members.
    'group.initial.rebalance.delay.ms': 0,
    // Its session is renewed as often; the default of 2 s is what a start would wait for.
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

/** To the standard output, which is the log file in the state folder, and until the very end of a shutdown. */
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
