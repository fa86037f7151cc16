/**
 * Runs one stage over one topic. Messages of a partition are handled one after the other, or side by side if their stage is unordered;
 * partitions in parallel.
 *
 * kafkajs sends heartbeats only when asked, so they are sent while a handler works, and what a heartbeat throws (a rebalance)
 * aborts the handler and is thrown on: whoever gets the partition next begins at the last committed offset. Offsets are
 * committed by a timer, and only up to what the stage calls committable and the first message that is not handled.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { EachBatchPayload, KafkaMessage } from 'kafkajs';
import type { OperatorConfig } from '../../schemas/config.ts';
import { type MessageName, topics } from '../../schemas/topics.ts';
import { isFromKafka, joinGroup } from '../kafka/group-member.ts';
import type { Publisher } from '../kafka/publish.ts';
import { groupName, topicName } from '../kafka/topics.ts';
import { inGroups, within } from '../runtime/in-groups.ts';
import type { Logger } from '../runtime/log.ts';
import type { PipelineMetrics } from '../runtime/metrics.ts';
import { childOf, isTraced, type Tracer } from '../runtime/traces.ts';
import { decode, encode, MalformedMessage } from '../wire/codec.ts';
import { type Epoch, newEpoch } from './epoch.ts';
import { faultPoint } from './fault-points.ts';
import { type CrashRecords, createHandleMessages } from './handle-message.ts';
import type { Retry } from './retry.ts';
import type { Delivery, Stage } from './stage.ts';
import { createStep, type Step } from './step.ts';

export interface Consumption {
  stop(): Promise<void>;
  /** Resolves when the first partitions have been assigned. */
  joined: Promise<void>;
  /** The age of the oldest message that was fetched and is not handled; 0 if there is none. */
  lagSeconds(): number;
}

/**
 * A rebalance begins when the last member has noticed, with a heartbeat; one that has nothing to handle sends it after a fetch. All
 * partitions stand still until then.
 */
const HEARTBEAT_MS = 300;
const MAX_FETCH_MS = 500;
const COMMIT_MS = 500;
const MAX_GATHER_MS = 20;
/** What is handled at the same time, of one partition. */
const AT_ONCE = { bytes: 1_000_000, count: 64 };
/** Messages that an unordered stage has in hand, most of them waiting for their turn: a bound for memory, far above what is common. */
const MAX_IN_FLIGHT = 100_000;

interface Dependencies {
  config: OperatorConfig;
  log: Logger;
  publisher: Publisher;
  retry: Retry;
  crashes: CrashRecords;
  recordReason(job: number, reason: string): Promise<void>;
  metrics: PipelineMetrics;
  tracer?: Tracer;
  /** Called once, for what no retry mends. The process is to end. */
  onFatal(error: unknown): void;
}

export function consume(stage: Stage, deps: Dependencies): Consumption {
  const { config, publisher, retry } = deps;
  const log = deps.log.child({ stage: stage.name });
  const metrics = metricsOf(stage.name, deps.metrics);
  const topic = topicName(config, stage.input);
  const stopping = new AbortController();
  let working = new AbortController();
  let epoch = newEpoch();

  async function commitOffsets(): Promise<void> {
    const { handled, committed, inFlight } = epoch;
    const offsets: { topic: string; partition: number; offset: string }[] = [];
    for (const [partition, next] of handled) {
      const offset = inFlight.first(partition) ?? stage.committable?.(partition, next) ?? next;
      if (offset > (committed.get(partition) ?? -1n))
        offsets.push({ topic, partition, offset: offset.toString() });
    }
    if (offsets.length === 0) return;
    faultPoint(`${stage.name}:before-offsets`);
    await member.commit(offsets);
    faultPoint(`${stage.name}:after-offsets`);
    for (const { partition, offset } of offsets) committed.set(partition, BigInt(offset));
  }

  async function deadLetter(
    partition: number,
    message: KafkaMessage,
    error: MalformedMessage,
  ): Promise<void> {
    log.error(
      { partition, offset: message.offset, reason: error.message },
      'malformed message moved to the dead-letter topic',
    );
    metrics.deadLetters.inc();
    const value = encode('DeadLetter', {
      topic,
      partition,
      offset: message.offset,
      error: error.message,
      key: message.key,
      value: (message.value ?? Buffer.alloc(0)).subarray(0, 900_000),
      at: Date.now(),
    });
    await retry(
      'put to the dead letters',
      () => publisher.send('deadLetters', [{ partition: 0, key: topic, value }]),
      working.signal,
    );
  }

  function understand(partition: number, raw: KafkaMessage, step: Step): Received {
    try {
      const message = decode(raw.value, topics[stage.input].holds as readonly MessageName[]);
      const offset = BigInt(raw.offset);
      return {
        raw,
        understood: { partition, offset, message, step, ...traceOf(stage.name, partition, raw) },
      };
    } catch (error) {
      if (!(error instanceof MalformedMessage)) throw error;
      return { raw, understood: error };
    }
  }

  const messages = stage.handle ? createHandleMessages(stage, { ...deps, log, metrics }) : undefined;
  async function handleSome(
    own: Epoch,
    partition: number,
    received: Received[],
    { step, signal }: { step: Step; signal: AbortSignal },
  ): Promise<void> {
    const deliveries: Delivery[] = [];
    for (const { raw, understood } of received) {
      if (understood instanceof MalformedMessage) await deadLetter(partition, raw, understood);
      else deliveries.push(understood);
    }
    if (messages && deliveries.length > 0) await messages.handle(own, deliveries, signal);
    if (stage.handleAll) {
      const began = performance.now();
      await stage.handleAll(partition, deliveries, step);
      metrics.duration.observe((performance.now() - began) / 1_000);
    }
    metrics.messages.inc(received.length);
    metrics.bytes.inc(received.reduce((sum, { raw }) => sum + (raw.value?.length ?? 0), 0));
  }

  async function untilRoom({ inFlight }: Epoch, isGone: () => boolean): Promise<void> {
    while (inFlight.size >= MAX_IN_FLIGHT && !isGone()) await sleep(HEARTBEAT_MS);
  }

  async function eachBatch({
    batch,
    resolveOffset,
    heartbeat,
    isRunning,
    isStale,
  }: EachBatchPayload): Promise<void> {
    // After a failure that is no rebalance nobody joins again: the same partitions go on where they were.
    if (working.signal.aborted && !stopping.signal.aborted) working = new AbortController();
    const { signal } = working;
    const { partition } = batch;
    const own = epoch;
    // What is handled side by side ends with the assignment, not with what fails beside it: it is not delivered again before.
    const step = createStep(stage.name, retry, messages?.isUnordered ? own.over.signal : signal);
    const gone = () =>
      !isRunning() || isStale() || signal.aborted || stopping.signal.aborted || own !== epoch;
    const received = batch.messages.map((message) => understand(partition, message, step));
    for (const some of groupsOf(stage, received)) {
      if (gone()) return;
      own.oldest.set(partition, Number(some[0]!.raw.timestamp));
      const task = untilRoom(own, gone).then(() => handleSome(own, partition, some, { step, signal }));
      try {
        await whileBeating(task, heartbeat);
      } catch (error) {
        working.abort(error);
        await task.catch(() => {});
        if (!stopping.signal.aborted && !isFromKafka(error) && !isAbort(error)) deps.onFatal(error);
        if (stopping.signal.aborted) return;
        throw error;
      }
      // The partitions were assigned anew meanwhile: what was handled is read again, and its offset is not ours to resolve.
      if (own !== epoch) return;
      const { offset } = some.at(-1)!.raw;
      own.handled.set(partition, BigInt(offset) + 1n);
      resolveOffset(offset);
      await heartbeat();
    }
    own.oldest.delete(partition);
    // What comes in this moment is handled together: the more comes, the longer the moment.
    if (stage.handleAll) await sleep(Math.min(batch.messages.length, MAX_GATHER_MS));
  }

  let markJoined: () => void = () => {};
  const joined = new Promise<void>((resolve) => {
    markJoined = resolve;
  });
  function endEpoch(): void {
    epoch.over.abort(new Error('stopping'));
    messages?.leave(epoch);
  }
  function onJoin(partitions: number[]): void {
    // Every handler of the old assignment has settled (patched-kafkajs.ts sees to it). Should one not have, it finds its epoch over.
    working.abort(new Error('stopping'));
    working = new AbortController();
    endEpoch();
    epoch = newEpoch();
    stage.assigned?.(partitions, createStep(stage.name, retry, epoch.over.signal));
    log.info({ partitions }, 'partitions assigned');
    metrics.rebalances.inc();
    metrics.partitions.set(partitions.length);
    markJoined();
  }

  const member = joinGroup({
    config,
    log,
    topic,
    settings: {
      groupId: groupName(config, stage.name),
      sessionTimeout: config.sessionTimeoutMs,
      rebalanceTimeout: 30_000,
      heartbeatInterval: HEARTBEAT_MS,
      maxWaitTimeInMs: MAX_FETCH_MS,
      maxBytesPerPartition: 2_000_000,
      maxBytes: 8_000_000,
      allowAutoTopicCreation: false,
      retry: { initialRetryTime: 200, maxRetryTime: 3_000, retries: 5 },
    },
    eachBatch,
    onJoin,
    onReplaced: () => metrics.restarts.inc(),
    onFatal: deps.onFatal,
  });
  const timer = setInterval(() => {
    commitOffsets().catch((error) => log.debug({ err: error }, 'offset commit failed: it is retried'));
  }, COMMIT_MS);

  return {
    joined,
    lagSeconds() {
      const oldest = Math.min(Date.now(), ...epoch.oldest.values(), ...epoch.inFlight.oldest());
      return (Date.now() - oldest) / 1_000;
    },
    async stop() {
      stopping.abort();
      working.abort(new Error('stopping'));
      endEpoch();
      clearInterval(timer);
      await Promise.all([stage.stop?.(), messages?.settled()]);
      await commitOffsets().catch((error) =>
        log.warn({ err: error }, 'final offset commit failed: the messages will be redelivered'),
      );
      await member.leave();
    },
  };
}

/** Looked up once: they are counted with every group of messages. */
const metricsOf = (stage: string, all: PipelineMetrics) => ({
  messages: all.messagesHandled.labels(stage),
  bytes: all.bytesHandled.labels(stage),
  duration: all.stageDuration.labels(stage),
  partitions: all.partitions.labels(stage),
  rebalances: all.rebalances.labels(stage),
  restarts: all.consumerRestarts.labels(stage),
  deadLetters: all.deadLetters.labels(stage),
  failures: all.handlingFailures.labels(stage),
  givenUp: all.messagesGivenUp.labels(stage),
});

/** A message that comes again has the same span. */
function traceOf(
  stage: string,
  partition: number,
  { headers, offset }: KafkaMessage,
): Pick<Delivery, 'trace'> {
  const parent = headers?.traceparent?.toString();
  return isTraced(parent)
    ? { trace: { parent, context: childOf(parent, `${stage} ${partition} ${offset}`) } }
    : {};
}

interface Received {
  raw: KafkaMessage;
  understood: Delivery | MalformedMessage;
}

const groupsOf = (stage: Stage, received: Received[]): Iterable<Received[]> =>
  stage.handleAll
    ? [received]
    : inGroups(
        received,
        within(AT_ONCE, ({ understood }) =>
          understood instanceof MalformedMessage ? 0 : stage.weigh(understood.message),
        ),
      );

/** Waits for the task and beats meanwhile. Rejects with what the task or a heartbeat rejects with. */
async function whileBeating(task: Promise<void>, heartbeat: () => Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const failed = new Promise<never>((_, reject) => {
    timer = setInterval(() => heartbeat().catch(reject), HEARTBEAT_MS);
  });
  try {
    await Promise.race([task, failed]);
  } finally {
    clearInterval(timer);
  }
}

const isAbort = (error: unknown) =>
  error instanceof Error && (error.name === 'AbortError' || error.message === 'stopping');
