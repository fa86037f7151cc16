/**
 * Sends requests to the brokers directly, without a consumer group. Uses internals of kafkajs that only its own consumer and admin can
 * reach, so its version is pinned (patched-kafkajs.ts).
 */
import type { KafkaMessage } from 'kafkajs';
import type { OperatorConfig } from '../../schemas/config.ts';
import { isFromKafka } from '../engine/failures.ts';
import { createRetry } from '../engine/retry.ts';
import { CommandFailed, serverDown } from '../runtime/errors.ts';
import type { Logger } from '../runtime/log.ts';
import { logLevel } from './patched-kafkajs.ts';
import { refusalOf } from './refusals.ts';
import { createKafka } from './topics.ts';

export interface PartitionOffset {
  partition: number;
  /** -1 if the requested time is later than all messages, or if nothing was committed. */
  offset: string;
}

interface FetchOptions {
  maxWaitTime: number;
  maxBytes: number;
  topics: {
    topic: string;
    partitions: { partition: number; fetchOffset: string; maxBytes: number }[];
  }[];
}

interface Fetched {
  responses: {
    topicName: string;
    partitions: { partition: number; highWatermark: string; messages: FetchedMessage[] }[];
  }[];
}
export type FetchedMessage = KafkaMessage & { isControlRecord?: boolean };

export interface Broker {
  fetch(options: FetchOptions): Promise<Fetched>;
  offsetFetch(options: { groupId: string; topics: TopicPartitions[] }): Promise<{
    responses: { topic: string; partitions: (PartitionOffset & { metadata: string | null })[] }[];
  }>;
  offsetCommit(options: {
    groupId: string;
    groupGenerationId: number;
    memberId: string;
    topics: { topic: string; partitions: (PartitionOffset & { metadata?: string })[] }[];
  }): Promise<unknown>;
  produce(options: {
    topicData: { topic: string; partitions: { partition: number; messages: never[] }[] }[];
    acks: number;
    timeout: number;
  }): Promise<unknown>;
  describeConfigs(options: {
    resources: { type: number; name: string; configNames: string[] }[];
  }): Promise<{ resources: TopicSettings[] }>;
  connectionPool: { send<T>(exchange: { request: object; response: Answer<T> }): Promise<T> };
}
interface Answer<T> {
  decode(bytes: Buffer): Promise<T>;
  parse(decoded: T): Promise<T>;
}
interface TopicSettings {
  resourceName: string;
  configEntries: { configName: string; configValue: string }[];
}
interface TopicPartitions {
  topic: string;
  partitions: { partition: number }[];
}

export interface Cluster {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  addMultipleTargetTopics(topics: string[]): Promise<void>;
  refreshMetadata(): Promise<void>;
  findTopicPartitionMetadata(topic: string): { partitionId: number; leader: number }[];
  findBroker(options: { nodeId: string }): Promise<Broker>;
  getNodeIds(): string[];
  findGroupCoordinator(options: { groupId: string }): Promise<Broker>;
  fetchTopicsOffset(
    topics: (TopicPartitions & { fromBeginning?: boolean; fromTimestamp?: number })[],
  ): Promise<{ topic: string; partitions: PartitionOffset[] }[]>;
}

type CreateCluster = (options: { allowAutoTopicCreation: boolean; metadataMaxAge: number }) => Cluster;
const METADATA_MAX_AGE_MS = 60_000;

function newCluster(config: OperatorConfig, log: Logger): Cluster {
  // Fail fast for a person at a terminal; transient failures are retried below.
  const kafka = createKafka(config, log, {
    retry: { retries: 0 },
    requestTimeout: 10_000,
    // The caller logs each failure once.
    logLevel: logLevel.NOTHING,
  });
  const creator = Object.getOwnPropertySymbols(kafka).find(
    ({ description }) => description === 'private:Kafka:createCluster',
  )!;
  const create = (kafka as unknown as Record<symbol, CreateCluster>)[creator]!;
  return create({ allowAutoTopicCreation: false, metadataMaxAge: METADATA_MAX_AGE_MS });
}

/** Calls `work` with a connected cluster. Otherwise the error says whether no broker answered or they refused us. */
export async function withCluster<T>(
  config: OperatorConfig,
  log: Logger,
  work: (cluster: Cluster) => Promise<T>,
): Promise<T> {
  const cluster = newCluster(config, log);
  const { kafkaBrokers } = config;
  const down = async (cause: unknown) =>
    (await refusalOf(config, cause)) ?? serverDown('Kafka', kafkaBrokers.join(', '), cause);
  // Each attempt connects to another broker of the list.
  const tries = createRetry(undefined, {
    when: isFromKafka,
    maxTries: kafkaBrokers.length + 1,
    firstMs: 100,
  });
  try {
    await tries('connect', () => cluster.connect()).catch(async (error) => {
      throw await down(error);
    });
    return await work(cluster).catch(async (error) => {
      throw isGone(error) || isDenied(error) ? await down(error) : error;
    });
  } finally {
    await cluster.disconnect();
  }
}

type KafkaError = Error & { type?: string };
const isGone = (error: unknown) =>
  isFromKafka(error) &&
  /Connection|RequestTimeout|BrokerNotFound|RetriesExceeded/.test((error as Error).name);
const isDenied = (error: unknown) => (error as KafkaError).type?.endsWith('_AUTHORIZATION_FAILED') === true;
export const isOutOfRange = (error: unknown) =>
  isFromKafka(error) && (error as KafkaError).type === 'OFFSET_OUT_OF_RANGE';

const untilAnswered = createRetry(undefined, {
  when: (error) => isFromKafka(error) && !isOutOfRange(error),
  maxTries: 8,
  firstMs: 100,
});

/** Finds the leaders of the topics' partitions. */
export async function findTopics(cluster: Cluster, names: string[]): Promise<void> {
  await asking(cluster, () => cluster.addMultipleTargetTopics(names)).catch((error: KafkaError) => {
    if (error.type !== 'UNKNOWN_TOPIC_OR_PARTITION') throw error;
    throw new CommandFailed(
      'no_topic',
      `no topic ${names.join(', ')}: the pipeline creates its topics at its first start`,
    );
  });
}

/** Retries a failed request, for example after a leader moved, for about ten seconds. */
export function asking<T>(cluster: Cluster, ask: () => Promise<T>): Promise<T> {
  let hasFailed = false;
  return untilAnswered('ask the brokers', async () => {
    if (hasFailed) await cluster.refreshMetadata();
    hasFailed = true;
    return ask();
  });
}

/** Startup check that the brokers accept us. It fails fast; kafkajs itself would retry for a long time. */
export const requireBrokers = (config: OperatorConfig, log: Logger): Promise<void> =>
  withCluster(config, log, (cluster) => cluster.refreshMetadata());
