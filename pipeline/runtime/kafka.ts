/**
 * The only door to kafkajs (mended in kafkajs.ts). What bites, and is answered here and in consume.ts: one send is one record
 * batch a partition and is never split by size; a keyless message may change its partition on a retry.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Admin, Kafka as KafkaClient, KafkaConfig, LogEntry, Producer } from 'kafkajs';
import type { Config } from '../../schemas/config.ts';
import { type TopicKey, topics } from '../../schemas/topics.ts';
import { Kafka, logLevel } from './kafkajs.ts';
import type { Logger } from './log.ts';
import { together, type Waiting } from './together.ts';

const levels = { [logLevel.ERROR]: 'warn', [logLevel.WARN]: 'debug', [logLevel.INFO]: 'debug' } as const;

export function createKafka(config: Config, log: Logger, options: Partial<KafkaConfig> = {}): KafkaClient {
  return new Kafka({
    clientId: 'headrace',
    brokers: [...config.kafkaBrokers],
    connectionTimeout: 3_000,
    requestTimeout: 30_000,
    enforceRequestTimeout: true,
    logLevel: logLevel.WARN,
    // What kafkajs calls an error is mostly a reconnect that it does by itself.
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

export const topicName = (config: Config, topic: TopicKey) => `${config.topicPrefix}.${topics[topic].name}`;
export const groupName = (config: Config, stage: string) => `${config.groupPrefix}.${stage}`;

/** Makes the topics that are missing, and gives the number of partitions that each really has. */
export async function ensureTopics(config: Config, log: Logger): Promise<Record<TopicKey, number>> {
  const admin = createKafka(config, log).admin();
  await admin.connect();
  try {
    const keys = Object.keys(topics) as TopicKey[];
    const existing = new Set(await admin.listTopics());
    const missing = keys.filter((key) => !existing.has(topicName(config, key)));
    if (missing.length > 0) {
      await admin.createTopics({
        // kafkajs gives up when a broker has not heard of a topic yet that the controller has just made; partitionsOf waits.
        waitForLeaders: false,
        topics: missing.map((key) => ({
          topic: topicName(config, key),
          numPartitions: topics[key].partitions === 'many' ? config.partitions : 1,
          replicationFactor: config.replicationFactor,
          configEntries: [
            { name: 'cleanup.policy', value: topics[key].cleanup },
            { name: 'max.message.bytes', value: String(MAX_RECORD_BATCH * 2) },
            { name: 'min.insync.replicas', value: String(Math.max(1, config.replicationFactor - 1)) },
            ...(topics[key].cleanup === 'delete'
              ? [{ name: 'retention.ms', value: String(config.retentionHours * 3_600_000) }]
              : []),
          ],
        })),
      });
      log.info({ topics: missing.map((key) => topicName(config, key)) }, 'made the missing topics');
    }
    const counts = await partitionsOf(
      admin,
      keys.map((key) => topicName(config, key)),
    );
    return Object.fromEntries(keys.map((key) => [key, counts.get(topicName(config, key))!])) as Record<
      TopicKey,
      number
    >;
  } finally {
    await admin.disconnect();
  }
}

const KNOWN_WITHIN_MS = 20_000;

/** How many partitions each of the topics has, once the broker that we ask knows them all. */
async function partitionsOf(admin: Admin, names: string[]): Promise<Map<string, number>> {
  for (const until = performance.now() + KNOWN_WITHIN_MS; ; await sleep(100)) {
    try {
      const { topics: found } = await admin.fetchTopicMetadata({ topics: names });
      const counts = new Map(found.map(({ name, partitions }) => [name, partitions.length]));
      const unknown = names.filter((name) => !counts.get(name));
      if (unknown.length === 0) return counts;
      if (performance.now() > until) throw new Error(`no partitions of ${unknown.join(', ')}`);
    } catch (error) {
      const isNew = (error as { type?: string }).type === 'UNKNOWN_TOPIC_OR_PARTITION';
      if (!isNew || performance.now() > until) throw error;
    }
  }
}

export interface OutgoingMessage {
  partition: number;
  key: string;
  value: Buffer;
}

export interface Publisher {
  connect(): Promise<void>;
  /** Resolves when every message is on all in-sync replicas. Messages of one call to one partition keep their order. */
  send(topic: TopicKey, messages: OutgoingMessage[]): Promise<void>;
  /** Whether it is connected, and the last word from the brokers was a good one. Asks anew after a failure. */
  ready(): boolean;
  /** Asks the brokers now. */
  check(): Promise<boolean>;
  close(): Promise<void>;
}

/** The broker's default limit of a record batch is 1 MiB; ours stays below it. */
const MAX_RECORD_BATCH = 950_000;

/** Cuts messages into requests, none with more than a record batch's worth for any one partition, in order. */
export function chunkBySize(messages: OutgoingMessage[], limit = MAX_RECORD_BATCH): OutgoingMessage[][] {
  const requests: OutgoingMessage[][] = [];
  let current: OutgoingMessage[] = [];
  let sizes = new Map<number, number>();
  for (const message of messages) {
    const size = message.value.length + message.key.length + 64;
    const filled = sizes.get(message.partition) ?? 0;
    if (filled > 0 && filled + size > limit) {
      requests.push(current);
      current = [];
      sizes = new Map();
    }
    current.push(message);
    sizes.set(message.partition, (sizes.get(message.partition) ?? 0) + size);
  }
  if (current.length > 0) requests.push(current);
  return requests;
}

const REQUESTS_IN_FLIGHT = 4;
const SEND_TRIES = 8;
const SEND_PAUSE_MS = 50;
const MAX_SEND_PAUSE_MS = 2_000;

/** How many of those that wait go into one request: at least one, and no more than a record batch holds. */
function fitTogether(waiting: readonly Waiting<OutgoingMessage[]>[]): number {
  let bytes = 0;
  for (const [count, { item }] of waiting.entries()) {
    bytes += item.reduce((sum, { value, key }) => sum + value.length + key.length + 64, 0);
    if (count > 0 && bytes > MAX_RECORD_BATCH) return count;
  }
  return waiting.length;
}

/** A send that failed. What it carried may or may not be there: sending it again is always safe with us. */
export class PublishError extends Error {
  readonly code = 'publish_failed';
  readonly retriable = true;
}

export function createPublisher(
  config: Config,
  log: Logger,
  options: { sendTimeoutMs?: number } = {},
): Publisher {
  const kafka = createKafka(config, log);
  // Not idempotent: its concurrent sends have lost messages, and with our ledger and sets a repeated message is harmless.
  // Not retried by kafkajs: it repeats only what went to brokers that have not answered, so a partition whose leader moves to one
  // that has is passed over in silence.
  const producer: Producer = kafka.producer({
    allowAutoTopicCreation: false,
    idempotent: false,
    retry: { retries: 0 },
  });
  const admin = kafka.admin();
  let connected = false;
  let healthy = false;
  let closed = false;
  let probe: NodeJS.Timeout | undefined;

  async function check(): Promise<boolean> {
    try {
      await admin.connect();
      await admin.describeCluster();
      healthy = true;
    } catch {
      unwell();
    }
    return connected && healthy;
  }

  function unwell(): void {
    healthy = false;
    if (closed || probe) return;
    probe = setTimeout(() => {
      probe = undefined;
      void check();
    }, 500);
  }

  /** All of it, or all of it again: what arrives twice is harmless. */
  async function sendWhole(topic: TopicKey, messages: OutgoingMessage[]): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        await producer.send({
          topic: topicName(config, topic),
          acks: -1,
          timeout: options.sendTimeoutMs ?? 30_000,
          messages,
        });
        return;
      } catch (error) {
        if (tries === SEND_TRIES || closed) throw error;
        await sleep(Math.min(MAX_SEND_PAUSE_MS, SEND_PAUSE_MS * 2 ** tries) * (0.5 + Math.random() / 2));
      }
    }
  }

  async function request(topic: TopicKey, sends: OutgoingMessage[][]): Promise<undefined> {
    try {
      for (const messages of chunkBySize(sends.flat())) await sendWhole(topic, messages);
      healthy = true;
    } catch (cause) {
      unwell();
      throw new PublishError(`cannot publish to ${topics[topic].name}: ${(cause as Error).message}`, {
        cause,
      });
    }
  }
  const queueOf = (topic: TopicKey) =>
    together((sends: OutgoingMessage[][]) => request(topic, sends), {
      inFlight: REQUESTS_IN_FLIGHT,
      howMany: fitTogether,
    });
  const queues = Object.fromEntries(
    (Object.keys(topics) as TopicKey[]).map((topic) => [topic, queueOf(topic)]),
  ) as Record<TopicKey, ReturnType<typeof queueOf>>;

  return {
    async connect() {
      await producer.connect();
      connected = true;
      await check();
    },
    send: (topic, messages) => queues[topic](messages),
    ready: () => connected && healthy,
    check,
    async close() {
      closed = true;
      clearTimeout(probe);
      await Promise.allSettled([producer.disconnect(), admin.disconnect()]);
    },
  };
}
