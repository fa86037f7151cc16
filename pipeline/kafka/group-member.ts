/**
 * A member of a stage's consumer group. After some broker failures kafkajs restarts its consumer, after others it gives up for good. Here
 * a new consumer replaces the failed one in both cases.
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
 * Long poll of a fetch. An idle member sends a heartbeat after each fetch. Shorter: rebalances, which wait for the last member to notice,
 * are faster. Longer: an idle process spends less CPU time, a millisecond per request.
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
 * A member without a heartbeat for this many session timeouts was expelled long ago and is blocked in a fetch that never returns. kafkajs
 * does not notice, because it sends heartbeats only between fetches.
 */
const SILENT_SESSIONS = 20;

/** Default of the brokers' group.min.session.timeout.ms. */
const ACCEPTED_MS = 6_000;
const refusedTimeout = (ms: number) =>
  new StartRefused(
    `HEADRACE_SESSION_TIMEOUT_MS: the brokers do not accept ${ms}; see their group.min.session.timeout.ms and group.max.session.timeout.ms`,
  );

/** Calls back when `begin` was not called again for `ms`. */
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
    const own = createKafka(config, log).consumer({
      ...settings,
      groupId: groupName(config, name),
      sessionTimeout,
      maxWaitTimeInMs: Math.min(MAX_FETCH_MS, sessionTimeout / 4),
    });
    /** A replaced consumer may wake up: ignore its events. */
    const isCurrent = () => own === consumer && !leaving.signal.aborted;
    const replace = () => {
      silence.end();
      onReplaced();
      start({ onBatch, onAssigned, onReplaced, onFatal });
    };
    const silence = createTimer(SILENT_SESSIONS * sessionTimeout, () => {
      if (!isCurrent()) return;
      log.error('no heartbeat for too long: replacing the consumer');
      replace();
      // Resolves only if the blocked fetch returns after all.
      void own.stop().catch(() => {});
    });
    own.on(own.events.HEARTBEAT, silence.begin);
    own.on(own.events.GROUP_JOIN, ({ payload }) => {
      if (!isCurrent()) return;
      silence.begin();
      onAssigned(payload.memberAssignment[topic] ?? []);
    });
    own.on(own.events.CRASH, ({ payload: { error } }) => {
      if (!isCurrent()) return;
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
    consumer = own;

    async function run(): Promise<void> {
      try {
        if (isReplacement) await sleep(REPLACE_MS, undefined, { signal: leaving.signal });
        await retry('connect the consumer', connect, leaving.signal);
        await own.run({
          autoCommit: false,
          eachBatchAutoResolve: false,
          partitionsConsumedConcurrently: 16,
          eachBatch: ({ batch, resolveOffset, heartbeat, isRunning, isStale }) =>
            onBatch({
              partition: batch.partition,
              messages: batch.messages,
              resolveOffset,
              heartbeat,
              isGone: () => own !== consumer || !isRunning() || isStale(),
            }),
        });
      } catch (error) {
        if (!leaving.signal.aborted) onFatal(error);
      }
    }
    async function connect(): Promise<void> {
      await own.connect();
      await own.subscribe({ topics: [topic], fromBeginning: true });
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
