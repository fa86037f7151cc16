/** How many messages each stage has not committed, as the brokers know it: also of a stage that nobody runs. */
import type { Admin } from 'kafkajs';
import { LRUCache } from 'lru-cache';
import type { Config } from '../../schemas/config.ts';
import type { StageName } from '../../schemas/stages.ts';
import { stageInputs, type TopicKey } from '../../schemas/topics.ts';
import { cached } from '../runtime/cached.ts';
import type { Logger } from '../runtime/log.ts';
import { createKafka, groupName, topicName } from './topics.ts';

export interface LagReader {
  read(): Promise<Map<StageName, number>>;
  close(): Promise<void>;
}

const KEPT_MS = 5_000;

/** Connects when it is asked for the first time, and asks the brokers at most every five seconds. */
export function createLagReader(config: Config, log: Logger): LagReader {
  const admin: Admin = createKafka(config, log, { retry: { retries: 0 }, requestTimeout: 5_000 }).admin();

  async function lagOf(key: TopicKey, stage: StageName): Promise<number> {
    const topic = topicName(config, key);
    // In this order: what is committed meanwhile must not be beyond the end.
    const [committed] = await admin.fetchOffsets({ groupId: groupName(config, stage), topics: [topic] });
    const reached = new Map(committed!.partitions.map(({ partition, offset }) => [partition, offset]));
    const ends = await admin.fetchTopicOffsets(topic);
    return ends.reduce((sum, { partition, low, high }) => {
      const position = Math.max(Number(low), Number(reached.get(partition) ?? low));
      return sum + Math.max(0, Number(high) - position);
    }, 0);
  }

  async function ask(): Promise<Map<StageName, number>> {
    await admin.connect();
    const lags = stageInputs.map(async ({ topic, stage }) => [stage, await lagOf(topic, stage)] as const);
    return new Map(await Promise.all(lags));
  }
  const answers = new LRUCache<'lags', Promise<Map<StageName, number>>>({ max: 1, ttl: KEPT_MS });

  return {
    read: () => cached(answers, 'lags', ask),
    close: () => admin.disconnect(),
  };
}
