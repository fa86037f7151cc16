/**
 * A member of a consumer group that lasts. kafkajs starts again by itself after some failures of the brokers and gives up for good
 * after others; here both have one answer: a new consumer takes the place of the one that failed.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Consumer, ConsumerConfig, EachBatchHandler, TopicPartitionOffset } from 'kafkajs';
import type { OperatorConfig } from '../../schemas/config.ts';
import { createRetry } from '../engine/retry.ts';
import type { Logger } from '../runtime/log.ts';
import { createKafka } from './topics.ts';

const REPLACE_MS = 300;

export interface GroupMember {
  commit(offsets: TopicPartitionOffset[]): Promise<void>;
  leave(): Promise<void>;
}

interface Options {
  config: OperatorConfig;
  log: Logger;
  topic: string;
  settings: ConsumerConfig;
  eachBatch: EachBatchHandler;
  onJoin(partitions: number[]): void;
  /** The consumer failed, and another takes its place. */
  onReplaced?(): void;
  /** Called for what no new consumer mends. */
  onFatal(error: unknown): void;
}

export function joinGroup(options: Options): GroupMember {
  const { config, log, topic, settings, eachBatch, onJoin, onFatal } = options;
  const leaving = new AbortController();
  const retry = createRetry(log, { when: () => true });
  let consumer = create();
  let started = start();

  function create(): Consumer {
    const made = createKafka(config, log).consumer({
      ...settings,
      retry: { ...settings.retry, restartOnFailure: async () => false },
    });
    made.on(made.events.GROUP_JOIN, ({ payload }) => onJoin(payload.memberAssignment[topic] ?? []));
    made.on(made.events.CRASH, ({ payload }) => onCrash(payload.error));
    return made;
  }

  async function start(afterMs = 0): Promise<void> {
    try {
      await sleep(afterMs, undefined, { signal: leaving.signal });
      await retry('connect the consumer', connect, leaving.signal);
      await consumer.run({
        autoCommit: false,
        eachBatchAutoResolve: false,
        partitionsConsumedConcurrently: 16,
        eachBatch,
      });
    } catch (error) {
      if (!leaving.signal.aborted) onFatal(error);
    }
  }

  async function connect(): Promise<void> {
    await consumer.connect();
    await consumer.subscribe({ topics: [topic], fromBeginning: true });
  }

  function onCrash(error: Error): void {
    if (leaving.signal.aborted) return;
    if (!isFromKafka(error)) onFatal(error);
    else {
      log.warn({ err: error }, 'consumer failed: replacing it');
      options.onReplaced?.();
      consumer = create();
      started = start(REPLACE_MS);
    }
  }

  return {
    commit: (offsets) => consumer.commitOffsets(offsets),
    async leave() {
      leaving.abort();
      await started; // Never disconnect before run has resolved.
      await consumer.stop();
      await consumer.disconnect();
    },
  };
}

export const isFromKafka = (error: unknown) => error instanceof Error && error.name.startsWith('KafkaJS');
