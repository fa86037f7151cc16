/** Deletes all records of topics, as retention would. */
import { createKafka, topicName } from '../../../pipeline/kafka/topics.ts';
import { createLogger } from '../../../pipeline/runtime/log.ts';
import type { Config } from '../../../schemas/config.ts';
import type { TopicKey } from '../../../schemas/topics.ts';

export async function removeRecords(config: Config, ...topics: TopicKey[]): Promise<void> {
  const admin = createKafka(config, createLogger({ logLevel: 'silent' }, 'test')).admin();
  await admin.connect();
  for (const key of topics) {
    const topic = topicName(config, key);
    const offsets = await admin.fetchTopicOffsets(topic);
    const partitions = offsets.map(({ partition, high }) => ({ partition, offset: high }));
    await admin.deleteTopicRecords({ topic, partitions });
  }
  await admin.disconnect();
}
