/**
 * Sends messages to Kafka, those that come at the same time in one request. One send is one record batch a partition and is never
 * split by size by kafkajs; a message without a key may change its partition on a retry. Both are answered here.
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

/** By partition: an offset that the messages of a call are not behind. */
export type Placed = Map<number, bigint>;

export interface Publisher {
  connect(): Promise<void>;
  /** Resolves when every message is on all in-sync replicas. Messages of one call to one partition keep their order. */
  send(topic: TopicKey, messages: OutgoingMessage[]): Promise<Placed>;
  /** Whether it is connected, and the brokers answered the last request. Asks anew after a failure. */
  ready(): boolean;
  /** Asks the brokers now. */
  check(): Promise<boolean>;
  close(): Promise<void>;
}

const sizeOf = ({ value, key }: OutgoingMessage) => value.length + key.length + 64;

/** Cuts messages into requests, none with more than a record batch's worth for any one partition, in order. */
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

/** Those of one request to a partition are one record batch: their offsets follow each other. */
function countByPartition(messages: OutgoingMessage[]): Map<number, number> {
  const counts = new Map<number, number>();
  for (const { partition } of messages) counts.set(partition, (counts.get(partition) ?? 0) + 1);
  return counts;
}

const REQUESTS_IN_FLIGHT = 4;
const SEND_TRIES = 8;

/** How many of those that wait go into one request: at least one, and no more than a record batch holds. */
function fitOneRequest(waiting: readonly Waiting<OutgoingMessage[]>[]): number {
  const oneBatch = within<Waiting<OutgoingMessage[]>>({ bytes: MAX_RECORD_BATCH }, ({ item }) =>
    item.reduce((sum, message) => sum + sizeOf(message), 0),
  );
  const [first] = inGroups(waiting, oneBatch);
  return first!.length;
}

/** A send that failed. What it carried may or may not be there: sending it again is always safe with us. */
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
