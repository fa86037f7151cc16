/** Topics may have been made by somebody else, or with other settings than today's: what is less safe than configured is warned about. */
import type { OperatorConfig } from '../../schemas/config.ts';
import { type TopicKey, topics } from '../../schemas/topics.ts';
import type { Logger } from '../runtime/log.ts';
import { createKafka, MAX_RECORD_BATCH, topicName, topicSettings } from './topics.ts';

export interface ActualTopic {
  /** Of the partition that has the fewest. */
  replicas: number;
  settings: ReadonlyMap<string, string>;
}

const TOPIC = 2;
const keys = Object.keys(topics) as TopicKey[];
const sorted = (list: string) => list.split(',').sort().join();

export function findWeaknesses(config: OperatorConfig, key: TopicKey, actual: ActualTopic): string[] {
  const found: string[] = [];
  const wanted = topicSettings(config, key);
  const has = (name: keyof typeof wanted) => actual.settings.get(name) ?? '';
  const compare = (name: keyof typeof wanted, isFine: boolean) => {
    if (!isFine) found.push(`${name} ${has(name)} instead of ${wanted[name]}`);
  };
  if (actual.replicas < config.replicationFactor)
    found.push(
      `${actual.replicas} replicas instead of ${config.replicationFactor} (HEADRACE_REPLICATION_FACTOR)`,
    );
  const inSync = 'min.insync.replicas';
  compare(inSync, Number(has(inSync)) >= Number(wanted[inSync]));
  compare('cleanup.policy', sorted(has('cleanup.policy')) === sorted(wanted['cleanup.policy']));
  compare('retention.ms', has('retention.ms') === wanted['retention.ms']);
  // More than a message of ours is never needed; what is smaller refuses some of them.
  compare('max.message.bytes', Number(has('max.message.bytes')) >= MAX_RECORD_BATCH);
  return found;
}

/** What cannot be read is no reason not to start. */
export async function checkTopics(config: OperatorConfig, log: Logger): Promise<void> {
  const admin = createKafka(config, log).admin();
  try {
    await admin.connect();
    const names = keys.map((key) => topicName(config, key));
    const { topics: found } = await admin.fetchTopicMetadata({ topics: names });
    const configNames = Object.keys(topicSettings(config, keys[0]!));
    const { resources } = await admin.describeConfigs({
      includeSynonyms: false,
      resources: names.map((name) => ({ type: TOPIC, name, configNames })),
    });
    for (const [i, key] of keys.entries()) {
      const partitions = found.find(({ name }) => name === names[i])!.partitions;
      const entries = resources.find(({ resourceName }) => resourceName === names[i])!.configEntries;
      const weaknesses = findWeaknesses(config, key, {
        replicas: Math.min(...partitions.map(({ replicas }) => replicas.length)),
        settings: new Map(entries.map(({ configName, configValue }) => [configName, configValue])),
      });
      if (weaknesses.length > 0)
        log.warn({ topic: names[i] }, `topic ${names[i]} is not as configured: ${weaknesses.join(', ')}`);
    }
  } catch (error) {
    log.warn({ err: error }, `cannot check the settings of the topics: ${(error as Error).message}`);
  } finally {
    await admin.disconnect();
  }
}
