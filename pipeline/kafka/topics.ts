/** The only door to kafkajs (patched in patched-kafkajs.ts): clients, and the topics with their partitions. */
import type { Admin, Kafka as KafkaClient, KafkaConfig, LogEntry } from 'kafkajs';
import type { OperatorConfig } from '../../schemas/config.ts';
import { type TopicKey, topics } from '../../schemas/topics.ts';
import { createRetry } from '../engine/retry.ts';
import type { Logger } from '../runtime/log.ts';
import { connectionOptions } from './connection.ts';
import { Kafka, logLevel } from './patched-kafkajs.ts';
import { refusalOf } from './refusals.ts';

/** The broker's default limit of a record batch is 1 MiB; ours stays below it. */
export const MAX_RECORD_BATCH = 950_000;

const levels = { [logLevel.ERROR]: 'warn', [logLevel.WARN]: 'debug', [logLevel.INFO]: 'debug' } as const;

export function createKafka(
  config: OperatorConfig,
  log: Logger,
  options: Partial<KafkaConfig> = {},
): KafkaClient {
  return new Kafka({
    clientId: 'headrace',
    brokers: [...config.kafkaBrokers],
    ...connectionOptions(config),
    connectionTimeout: 3_000,
    requestTimeout: 30_000,
    enforceRequestTimeout: true,
    logLevel: logLevel.WARN,
    // Most errors that kafkajs logs are reconnects that it handles itself.
    logCreator: () => (entry: LogEntry) => {
      const { message, timestamp: _, ...rest } = entry.log;
      log[levels[entry.level as keyof typeof levels] ?? 'trace'](
        { kafka: entry.namespace, ...rest },
        message,
      );
    },
    retry: { initialRetryTime: 100, maxRetryTime: 2_000, retries: 8 },
    ...options,
  });
}

export const topicName = (config: OperatorConfig, topic: TopicKey) =>
  `${config.topicPrefix}.${topics[topic].name}`;
export const groupName = (config: OperatorConfig, stage: string) => `${config.groupPrefix}.${stage}`;

export const retentionHoursOf = (
  { retentionHours, retentionDaysJobs }: Pick<OperatorConfig, 'retentionHours' | 'retentionDaysJobs'>,
  topic: TopicKey,
) => (topics[topic].cleanup === 'delete' ? retentionHours : retentionDaysJobs * 24);

export const topicSettings = (config: OperatorConfig, topic: TopicKey) => ({
  'cleanup.policy': topics[topic].cleanup as string,
  'max.message.bytes': String(MAX_RECORD_BATCH * 2),
  // The brokers' clock: a process with a wrong clock would expire messages early or keep them for years.
  'message.timestamp.type': 'LogAppendTime',
  'min.insync.replicas': String(Math.max(1, config.replicationFactor - 1)),
  'retention.ms': String(retentionHoursOf(config, topic) * 3_600_000),
});

/** Creates missing topics and returns the actual partition count of each topic. */
export async function ensureTopics(config: OperatorConfig, log: Logger): Promise<Record<TopicKey, number>> {
  const admin = createKafka(config, log).admin();
  await admin.connect();
  try {
    const keys = Object.keys(topics) as TopicKey[];
    const existing = new Set(await admin.listTopics());
    const missing = keys.filter((key) => !existing.has(topicName(config, key)));
    if (missing.length > 0) {
      await admin.createTopics({
        // kafkajs would give up if a broker does not know a new topic yet; partitionsOf waits.
        waitForLeaders: false,
        topics: missing.map((key) => ({
          topic: topicName(config, key),
          numPartitions: topics[key].partitions === 'many' ? config.partitions : 1,
          replicationFactor: config.replicationFactor,
          configEntries: Object.entries(topicSettings(config, key)).map(([name, value]) => ({ name, value })),
        })),
      });
      log.info({ topics: missing.map((key) => topicName(config, key)) }, 'created missing topics');
    }
    const counts = await partitionsOf(
      admin,
      keys.map((key) => topicName(config, key)),
    );
    return Object.fromEntries(keys.map((key) => [key, counts.get(topicName(config, key))!])) as Record<
      TopicKey,
      number
    >;
  } catch (error) {
    throw (await refusalOf(config, error)) ?? error;
  } finally {
    await admin.disconnect();
  }
}

/** A broker may learn of a new topic late: waits about 20 seconds. */
const untilKnown = createRetry(undefined, {
  when: (error) => (error as { type?: string }).type === 'UNKNOWN_TOPIC_OR_PARTITION',
  maxTries: 30,
  firstMs: 100,
  maxMs: 1_000,
});

/** Partition count by topic, once the broker knows all topics. */
const partitionsOf = (admin: Admin, names: string[]): Promise<Map<string, number>> =>
  untilKnown('read the partitions', async () => {
    const { topics: found } = await admin.fetchTopicMetadata({ topics: names });
    const counts = new Map(found.map(({ name, partitions }) => [name, partitions.length]));
    const unknown = names.filter((name) => !counts.get(name));
    if (unknown.length === 0) return counts;
    throw Object.assign(new Error(`no partitions of ${unknown.join(', ')}`), {
      type: 'UNKNOWN_TOPIC_OR_PARTITION',
    });
  });
