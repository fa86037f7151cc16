/** Reads a topic from its beginning beside the stages, without moving anybody's offsets. */
import { randomUUID } from 'node:crypto';
import type { Config } from '../../schemas/config.ts';
import type { TopicKey } from '../../schemas/topics.ts';
import type { Logger } from '../runtime/log.ts';
import { createKafka, topicName } from './topics.ts';

export interface ReadMessage {
  partition: number;
  offset: string;
  timestamp: Date;
  key: Buffer | null;
  value: Buffer | null;
}

interface ReadOptions {
  /** Goes on with what comes later; otherwise ends with what is there now. */
  follow?: boolean;
  signal?: AbortSignal;
}

export async function readTopic(
  config: Config,
  log: Logger,
  topic: TopicKey,
  visit: (message: ReadMessage) => Promise<void> | void,
  { follow = false, signal }: ReadOptions = {},
): Promise<void> {
  const kafka = createKafka(config, log);
  const name = topicName(config, topic);
  const admin = kafka.admin();
  await admin.connect();
  const ends = await admin.fetchTopicOffsets(name);
  /** Partitions that still have something to show: the offset at which each is done. */
  const open = new Map(
    ends
      .filter(({ high, low }) => BigInt(high) > BigInt(low))
      .map((end) => [end.partition, BigInt(end.high)]),
  );
  const groupId = `${config.groupPrefix}.read-${randomUUID()}`;
  const consumer = kafka.consumer({ groupId, maxWaitTimeInMs: 200, allowAutoTopicCreation: false });
  try {
    if (!follow && open.size === 0) return;
    await consumer.connect();
    await consumer.subscribe({ topics: [name], fromBeginning: true });
    await new Promise<void>((resolve, reject) => {
      signal?.addEventListener('abort', () => resolve(), { once: true });
      consumer
        .run({
          autoCommit: false,
          eachMessage: async ({ partition, message }) => {
            const end = open.get(partition);
            if (!follow && (end === undefined || BigInt(message.offset) >= end)) return;
            const { offset, key, value } = message;
            try {
              await visit({ partition, offset, timestamp: new Date(Number(message.timestamp)), key, value });
            } catch (error) {
              reject(error);
              return;
            }
            if (end !== undefined && BigInt(offset) + 1n >= end) open.delete(partition);
            if (!follow && open.size === 0) resolve();
          },
        })
        .catch(reject);
    });
  } finally {
    await consumer.disconnect();
    await admin.deleteGroups([groupId]).catch(() => {});
    await admin.disconnect();
  }
}
