/** Small and quick to start; what is not set here is Kafka's default. */
export function kafkaSettings(at: {
  host: string;
  broker: number;
  controller: number;
  logs: string;
}): Record<string, string | number | boolean> {
  return {
    'process.roles': 'broker,controller',
    'node.id': 1,
    // Fixed voters, read from here at every start: the controller's port may differ from the last time.
    'controller.quorum.voters': `1@127.0.0.1:${at.controller}`,
    'controller.listener.names': 'CONTROLLER',
    'inter.broker.listener.name': 'PLAINTEXT',
    'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
    listeners: `PLAINTEXT://${at.host}:${at.broker},CONTROLLER://127.0.0.1:${at.controller}`,
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${at.broker}`,
    'log.dirs': at.logs,
    'auto.create.topics.enable': false,
    'message.max.bytes': 2 * 1024 * 1024,
    'replica.fetch.max.bytes': 2 * 1024 * 1024,
    'offsets.topic.num.partitions': 4,
    'offsets.topic.replication.factor': 1,
    'transaction.state.log.num.partitions': 1,
    'transaction.state.log.replication.factor': 1,
    'transaction.state.log.min.isr': 1,
    'share.coordinator.state.topic.num.partitions': 1,
    'share.coordinator.state.topic.replication.factor': 1,
    'share.coordinator.state.topic.min.isr': 1,
    // A group of one process gains nothing by waiting for more members.
    'group.initial.rebalance.delay.ms': 0,
    // Its session is renewed as often; the default of 2 s is what a start would wait for.
    'broker.heartbeat.interval.ms': 500,
    'num.network.threads': 2,
    'num.io.threads': 4,
    'background.threads': 2,
    'log.cleaner.dedupe.buffer.size': 16 * 1024 * 1024,
    'log.segment.bytes': 256 * 1024 * 1024,
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
