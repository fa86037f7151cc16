/** Warns about topics that are less safe than configured: created by other means or with other settings. */
import type { Admin, PartitionMetadata } from 'kafkajs';
import type { OperatorConfig } from '../../schemas/config.ts';
import { type TopicKey, topics } from '../../schemas/topics.ts';
import type { Logger } from '../runtime/log.ts';
import { createKafka, MAX_RECORD_BATCH, topicName, topicSettings } from './topics.ts';

export interface ActualTopic {
  partitions: PartitionMetadata[];
  /** The lowest of all partitions. */
  replicas: number;
  settings: ReadonlyMap<string, string>;
}
export type TopicSetting = keyof ReturnType<typeof topicSettings>;

const TOPIC = 2;
const keys = Object.keys(topics) as TopicKey[];
const sorted = (list: string) => list.split(',').sort().join();

/** The actual partitions, replicas and settings of the topics that exist. */
export async function readTopics(
  admin: Admin,
  config: OperatorConfig,
  existing: readonly TopicKey[],
): Promise<Map<TopicKey, ActualTopic>> {
  const names = existing.map((key) => topicName(config, key));
  const { topics: found } = await admin.fetchTopicMetadata({ topics: names });
  const configNames = Object.keys(topicSettings(config, keys[0]!));
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: names.map((name) => ({ type: TOPIC, name, configNames })),
  });
  return new Map(
    existing.map((key, i) => {
      const { partitions } = found.find(({ name }) => name === names[i])!;
      const { configEntries } = resources.find(({ resourceName }) => resourceName === names[i])!;
      const replicas = Math.min(...partitions.map((partition) => partition.replicas.length));
      const settings = new Map(configEntries.map(({ configName, configValue }) => [configName, configValue]));
      return [key, { partitions, replicas, settings }];
    }),
  );
}

/** Settings that are less safe than ours, or that must equal ours and do not. */
export function weakSettings(
  config: OperatorConfig,
  key: TopicKey,
  settings: ActualTopic['settings'],
): TopicSetting[] {
  const wanted = topicSettings(config, key);
  const has = (name: TopicSetting) => settings.get(name) ?? '';
  const fine: Record<TopicSetting, boolean> = {
    'cleanup.policy': sorted(has('cleanup.policy')) === sorted(wanted['cleanup.policy']),
    // A lower limit would reject some of our record batches.
    'max.message.bytes': Number(has('max.message.bytes')) >= MAX_RECORD_BATCH,
    'message.timestamp.type': has('message.timestamp.type') === wanted['message.timestamp.type'],
    'min.insync.replicas': Number(has('min.insync.replicas')) >= Number(wanted['min.insync.replicas']),
    'retention.ms': has('retention.ms') === wanted['retention.ms'],
  };
  return (Object.keys(fine) as TopicSetting[]).filter((name) => !fine[name]);
}

export function findWeaknesses(
  config: OperatorConfig,
  key: TopicKey,
  { replicas, settings }: Omit<ActualTopic, 'partitions'>,
): string[] {
  const wanted = topicSettings(config, key);
  const { replicationFactor } = config;
  return [
    ...(replicas < replicationFactor
      ? [`${replicas} replicas instead of ${replicationFactor} (HEADRACE_REPLICATION_FACTOR)`]
      : []),
    ...weakSettings(config, key, settings).map(
      (name) => `${name} ${settings.get(name) ?? ''} instead of ${wanted[name]}`,
    ),
  ];
}

/** Logs a warning for each topic that is not as configured. The service starts even if the topics cannot be read. */
export async function warnOfTopics(config: OperatorConfig, log: Logger): Promise<void> {
  const admin = createKafka(config, log).admin();
  try {
    await admin.connect();
    for (const [key, actual] of await readTopics(admin, config, keys)) {
      const weaknesses = findWeaknesses(config, key, actual);
      const topic = topicName(config, key);
      if (weaknesses.length > 0)
        log.warn({ topic }, `topic ${topic} is not as configured: ${weaknesses.join(', ')}`);
    }
  } catch (error) {
    log.warn({ err: error }, `cannot check the settings of the topics: ${(error as Error).message}`);
  } finally {
    await admin.disconnect();
  }
}
