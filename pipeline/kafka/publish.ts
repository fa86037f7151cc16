/**
 * Publishes messages, concurrent calls in one request. kafkajs writes one record batch per partition and send, whatever its size, and may
 * move a message without a partition on a retry: so sends are split by size here, and every message names its partition.
 */
import type { Producer } from 'kafkajs';
import type { OperatorConfig } from '../../schemas/config.ts';
import { type TopicKey, topics } from '../../schemas/topics.ts';
import { createRetry } from '../engine/retry.ts';
import { groupCommit, type Waiting } from '../runtime/group-commit.ts';
import { inGroups, within } from '../runtime/in-groups.ts';
import type { Logger } from '../runtime/log.ts';
import type { PipelineMetrics } from '../runtime/metrics.ts';
import { createKafka, MAX_RECORD_BATCH, topicName } from './topics.ts';

export interface OutgoingMessage {
  partition: number;
  key: string;
  value: Buffer;
  headers?: Record<string, string>;
}

/** By partition: no message of the call has a higher offset. */
export type Placed = Map<number, bigint>;

export interface Publisher {
  connect(): Promise<void>;
  /** Resolves when all in-sync replicas have every message. Messages of one call to one partition keep their order. */
  send(topic: TopicKey, messages: OutgoingMessage[]): Promise<Placed>;
  /** Whether it is connected and the brokers answered the last request. Checked again after a failure. */
  ready(): boolean;
  /** Sends a request to the brokers now. */
  check(): Promise<boolean>;
  close(): Promise<void>;
}

const sizeOf = ({ value, key }: OutgoingMessage) => value.length + key.length + 64;

/** Splits messages into requests, in order, each with at most one record batch's worth per partition. */
export const chunkBySize = (messages: OutgoingMessage[], limit = MAX_RECORD_BATCH): OutgoingMessage[][] => [
  ...inGroups(messages, () => {
    const sizes = new Map<number, number>();
    return (message) => {
      const filled = sizes.get(message.partition) ?? 0;
      sizes.set(message.partition, filled + sizeOf(message));
      return filled === 0 || filled + sizeOf(message) <= limit;
    };
  }),
];

/** Messages of one request to one partition form one record batch, so their offsets are consecutive. */
function countByPartition(messages: OutgoingMessage[]): Map<number, number> {
  const counts = new Map<number, number>();
  for (const { partition } of messages) counts.set(partition, (counts.get(partition) ?? 0) + 1);
  return counts;
}

const REQUESTS_IN_FLIGHT = 4;
const SEND_TRIES = 8;

/** How many waiting calls go into one request: at least one, and no more than a record batch holds. */
function fitOneRequest(waiting: readonly Waiting<OutgoingMessage[]>[]): number {
  const oneBatch = within<Waiting<OutgoingMessage[]>>({ bytes: MAX_RECORD_BATCH }, ({ item }) =>
    item.reduce((sum, message) => sum + sizeOf(message), 0),
  );
  const [first] = inGroups(waiting, oneBatch);
  return first!.length;
}

/** A failed send. Its messages may have been written: sending them again is always safe here. */
class PublishError extends Error {
  readonly code = 'publish_failed';
  readonly retriable = true;
}

interface PublishOptions {
  sendTimeoutMs?: number;
  metrics?: Pick<PipelineMetrics, 'publishDuration' | 'messagesPublished' | 'bytesPublished'>;
}

export function createPublisher(
  config: OperatorConfig,
  log: Logger,
  options: PublishOptions = {},
): Publisher {
  const kafka = createKafka(config, log);
  // Not idempotent: concurrent sends of kafkajs's idempotent producer have lost messages, and duplicates are harmless (ledger, sets).
  // No retries by kafkajs: it resends only to brokers that have not answered, so it silently skips a partition whose leader has moved to a
  // broker that has.
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

  /** Resends everything: duplicates are harmless. */
  const retry = createRetry(undefined, { when: () => !closed, maxTries: SEND_TRIES, firstMs: 100 });
  const sendWhole = (topic: TopicKey, messages: OutgoingMessage[]) =>
    retry('publish', () =>
      producer.send({
        topic: topicName(config, topic),
        acks: -1,
        timeout: options.sendTimeoutMs ?? 30_000,
        messages,
      }),
    );

  function count(topic: TopicKey, messages: OutgoingMessage[], began: number): void {
    const { metrics } = options;
    const { name } = topics[topic];
    metrics?.publishDuration.observe({ topic: name }, (performance.now() - began) / 1_000);
    metrics?.messagesPublished.inc({ topic: name }, messages.length);
    metrics?.bytesPublished.inc(
      { topic: name },
      messages.reduce((sum, { value }) => sum + value.length, 0),
    );
  }

  async function request(topic: TopicKey, sends: OutgoingMessage[][]): Promise<Placed[]> {
    const placed: Placed = new Map();
    try {
      for (const messages of chunkBySize(sends.flat())) {
        const began = performance.now();
        const counts = countByPartition(messages);
        for (const { partition, baseOffset } of await sendWhole(topic, messages))
          placed.set(partition, BigInt(baseOffset ?? 0) + BigInt(counts.get(partition)! - 1));
        count(topic, messages, began);
      }
      healthy = true;
      return sends.map(() => placed);
    } catch (cause) {
      unwell();
      throw new PublishError(`cannot publish to ${topics[topic].name}: ${(cause as Error).message}`, {
        cause,
      });
    }
  }
  const queueOf = (topic: TopicKey) =>
    groupCommit((sends: OutgoingMessage[][]) => request(topic, sends), {
      inFlight: REQUESTS_IN_FLIGHT,
      howMany: fitOneRequest,
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
