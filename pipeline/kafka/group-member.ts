/**
 * A member of a stage's consumer group. kafkajs restarts by itself after some failures of the brokers and gives up for good after others;
 * here both have one answer: a new consumer replaces the one that failed.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Consumer, KafkaJSProtocolError } from 'kafkajs';
import type { OperatorConfig } from '../../schemas/config.ts';
import type { StageName } from '../../schemas/stages.ts';
import type { TopicKey } from '../../schemas/topics.ts';
import { HEARTBEAT_MS, type Member } from '../engine/consume.ts';
import { isFromKafka } from '../engine/failures.ts';
import { createRetry } from '../engine/retry.ts';
import { StartRefused } from '../runtime/errors.ts';
import type { Logger } from '../runtime/log.ts';
import { createKafka, groupName, topicName } from './topics.ts';

const REPLACE_MS = 300;

/**
 * How long a fetch waits for messages. A member with nothing to handle sends a heartbeat after each fetch: a rebalance waits for the last
 * member to notice it, and each request costs an idle process a millisecond of CPU time.
 */
const MAX_FETCH_MS = 1_000;
const settings = {
  rebalanceTimeout: 30_000,
  heartbeatInterval: HEARTBEAT_MS,
  maxBytesPerPartition: 2_000_000,
  maxBytes: 8_000_000,
  allowAutoTopicCreation: false,
  retry: { initialRetryTime: 200, maxRetryTime: 3_000, retries: 5, restartOnFailure: async () => false },
};

/**
 * A member without heartbeats for so many session timeouts has long been expelled, and waits for something that never comes. kafkajs
 * sends heartbeats only between fetches, and so would not notice.
 */
const SILENT_SESSIONS = 20;

/** The default of the brokers’ group.min.session.timeout.ms. */
const ACCEPTED_MS = 6_000;
const refusedTimeout = (ms: number) =>
  new StartRefused(
    `HEADRACE_SESSION_TIMEOUT_MS: the brokers do not accept ${ms}; see their group.min.session.timeout.ms and group.max.session.timeout.ms`,
  );

/** Calls back once nothing has begun it again for so long. */
function createTimer(ms: number, onEnd: () => void) {
  let timer: NodeJS.Timeout | undefined;
  const end = () => clearTimeout(timer);
  return {
    begin() {
      end();
      timer = setTimeout(onEnd, ms).unref();
    },
    end,
  };
}

export function createMember(
  config: OperatorConfig,
  log: Logger,
  { name, input }: { name: StageName; input: TopicKey },
): Member {
  const topic = topicName(config, input);
  const leaving = new AbortController();
  const retry = createRetry(log, { when: () => true });
  let sessionTimeout = config.sessionTimeoutMs;
  let consumer: Consumer;
  let started: Promise<void>;

  function start({ onBatch, onAssigned, onReplaced, onFatal }: Parameters<Member['join']>[0]): void {
    const made = createKafka(config, log).consumer({
      ...settings,
      groupId: groupName(config, name),
      sessionTimeout,
      maxWaitTimeInMs: Math.min(MAX_FETCH_MS, sessionTimeout / 4),
    });
    /** One that was replaced may wake up, and is not heard. */
    const isHeard = () => made === consumer && !leaving.signal.aborted;
    const replace = () => {
      silence.end();
      onReplaced();
      start({ onBatch, onAssigned, onReplaced, onFatal });
    };
    const silence = createTimer(SILENT_SESSIONS * sessionTimeout, () => {
      if (!isHeard()) return;
      log.error('no heartbeat for too long: replacing the consumer');
      replace();
      // It resolves if what the consumer waits for comes after all.
      void made.stop().catch(() => {});
    });
    made.on(made.events.HEARTBEAT, silence.begin);
    made.on(made.events.GROUP_JOIN, ({ payload }) => {
      if (!isHeard()) return;
      silence.begin();
      onAssigned(payload.memberAssignment[topic] ?? []);
    });
    made.on(made.events.CRASH, ({ payload: { error } }) => {
      if (!isHeard()) return;
      if (!isFromKafka(error)) return onFatal(error);
      if ((error as KafkaJSProtocolError).type !== 'INVALID_SESSION_TIMEOUT')
        log.warn({ err: error }, 'consumer failed: replacing it');
      else if (sessionTimeout < ACCEPTED_MS) {
        log.warn(
          `the brokers do not accept HEADRACE_SESSION_TIMEOUT_MS=${sessionTimeout}: using ${ACCEPTED_MS}; lower their group.min.session.timeout.ms for shorter pauses after a crash`,
        );
        sessionTimeout = ACCEPTED_MS;
      } else return onFatal(refusedTimeout(sessionTimeout));
      replace();
    });
    const isReplacement = consumer !== undefined;
    consumer = made;

    async function run(): Promise<void> {
      try {
        if (isReplacement) await sleep(REPLACE_MS, undefined, { signal: leaving.signal });
        await retry('connect the consumer', connect, leaving.signal);
        await made.run({
          autoCommit: false,
          eachBatchAutoResolve: false,
          partitionsConsumedConcurrently: 16,
          eachBatch: ({ batch, resolveOffset, heartbeat, isRunning, isStale }) =>
            onBatch({
              partition: batch.partition,
              messages: batch.messages,
              resolveOffset,
              heartbeat,
              isGone: () => made !== consumer || !isRunning() || isStale(),
            }),
        });
      } catch (error) {
        if (!leaving.signal.aborted) onFatal(error);
      }
    }
    async function connect(): Promise<void> {
      await made.connect();
      await made.subscribe({ topics: [topic], fromBeginning: true });
    }
    started = run();
  }

  return {
    topic,
    join: start,
    commitOffsets: (offsets) =>
      consumer.commitOffsets(
        [...offsets].map(([partition, { next, handled }]) => ({
          topic,
          partition,
          offset: String(next),
          metadata: String(handled),
        })),
      ),
    async leave() {
      leaving.abort();
      await started; // Never disconnect before run has resolved.
      await consumer.stop();
      await consumer.disconnect();
    },
  };
}
