/**
 * Runs one stage over one topic. Messages of a partition are handled in order, or concurrently if the stage is unordered; partitions in
 * parallel. Its modes:
 *
 *   joining ─► consuming ─► stopped
 *
 *   consuming  from the first assignment on. Each assignment is an epoch (epoch.ts): work of an old epoch resolves no offsets.
 *   stopped    aborts the handlers, commits the last offsets, leaves the group.
 *
 * Heartbeats continue while a handler works. If one throws (a rebalance), the handler is aborted and the error rethrown: the next owner
 * of the partition resumes at the committed offset. A timer commits offsets, up to the stage's committable offset and never past the
 * first unhandled message.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../runtime/log.ts';
import type { PipelineMetrics } from '../runtime/metrics.ts';
import type { Tracer } from '../runtime/traces.ts';
import { type CommittedOffset, type Epoch, newEpoch } from './epoch.ts';
import { isFromKafka } from './failures.ts';
import { faultPoint } from './fault-points.ts';
import { type CrashRecords, createHandleMessages } from './handle-message.ts';
import { createReceive, type FetchedMessage, type Received } from './receive.ts';
import type { Retry } from './retry.ts';
import type { Stage } from './stage.ts';
import { createStep, type Step } from './step.ts';

/** Messages of one partition, as a member of a consumer group fetches them. */
interface FetchedBatch {
  partition: number;
  messages: FetchedMessage[];
  resolveOffset(offset: string): void;
  heartbeat(): Promise<void>;
  /** The assignment has ended, or the consumer is stopping. */
  isGone(): boolean;
}

/** A member of the stage's consumer group (kafka/group-member.ts). */
export interface Member {
  readonly topic: string;
  join(handlers: {
    onBatch(batch: FetchedBatch): Promise<void>;
    onAssigned(partitions: number[]): void;
    /** The consumer failed and was replaced. */
    onReplaced(): void;
    onFatal(error: unknown): void;
  }): void;
  commitOffsets(offsets: ReadonlyMap<number, CommittedOffset>): Promise<void>;
  leave(): Promise<void>;
}

export interface Consumption {
  stop(): Promise<void>;
  /** Resolves at the first assignment. */
  joined: Promise<void>;
  /** Age of the oldest fetched message that is not handled yet; 0 if there is none. */
  lagSeconds(): number;
}

export const HEARTBEAT_MS = 300;
const COMMIT_MS = 500;
const MAX_GATHER_MS = 20;
/** An aborted handler should settle at once: until it does, this member cannot rejoin the group. */
const STUCK_MS = 10_000;
const STUCK = 'a handler has not ended 10 s after its assignment failed: the stage waits for it';
/** Limits the memory of an unordered stage, whose messages in flight are mostly queued. Far above the usual number. */
const MAX_IN_FLIGHT = 100_000;

interface Dependencies {
  log: Logger;
  member: Member;
  publisher: Parameters<typeof createReceive>[1]['publisher'];
  retry: Retry;
  crashes: CrashRecords;
  recordReason(job: number, reason: string): Promise<void>;
  metrics: PipelineMetrics;
  tracer?: Tracer;
  /** `next`: the first unhandled offset of the partition. */
  onHandled?(partition: number, next: bigint): void;
  /** Called once, for a failure that no retry repairs. The process must exit. */
  onFatal(error: unknown): void;
}

export function consume(stage: Stage, deps: Dependencies): Consumption {
  const { member, retry } = deps;
  const log = deps.log.child({ stage: stage.name });
  const metrics = metricsOf(stage.name, deps.metrics);
  const onDeadLetter = () => metrics.deadLetters.inc();
  const received = createReceive(stage, { ...deps, log, topic: member.topic, onDeadLetter });
  const messages = stage.handle ? createHandleMessages(stage, { ...deps, log, metrics }) : undefined;
  let mode: 'joining' | 'consuming' | 'stopped' = 'joining';
  let epoch = newEpoch();
  let markJoined: () => void = () => {};
  const joined = new Promise<void>((resolve) => {
    markJoined = resolve;
  });

  async function commitOffsets(): Promise<void> {
    const { handled, committed, inFlight } = epoch;
    const offsets = new Map<number, CommittedOffset>();
    for (const [partition, next] of handled) {
      const offset = inFlight.first(partition) ?? stage.committable?.(partition, next) ?? next;
      const known = committed.get(partition);
      if (offset > (known?.next ?? -1n) || (offset === known?.next && next !== known.handled))
        offsets.set(partition, { next: offset, handled: next });
    }
    if (offsets.size === 0) return;
    faultPoint(`${stage.name}:before-offsets`);
    await member.commitOffsets(offsets);
    faultPoint(`${stage.name}:after-offsets`);
    for (const [partition, offset] of offsets) committed.set(partition, offset);
  }

  async function handleGroup(
    own: Epoch,
    partition: number,
    group: Received[],
    { step, signal }: { step: Step; signal: AbortSignal },
  ): Promise<void> {
    const deliveries = await received.deliveries(partition, group, signal);
    if (messages && deliveries.length > 0) await messages.handle(own, deliveries, signal);
    if (stage.handleAll) {
      const began = performance.now();
      await stage.handleAll(partition, deliveries, step);
      metrics.duration.observe((performance.now() - began) / 1_000);
    }
    metrics.messages.inc(group.length);
    metrics.bytes.inc(group.reduce((sum, { raw }) => sum + (raw.value?.length ?? 0), 0));
  }

  async function untilRoom({ inFlight }: Epoch, isGone: () => boolean): Promise<void> {
    while (inFlight.size >= MAX_IN_FLIGHT && !isGone()) await sleep(HEARTBEAT_MS);
  }

  async function onBatch(batch: FetchedBatch): Promise<void> {
    const { partition, heartbeat } = batch;
    const own = epoch;
    const signal = own.work();
    // Concurrent handlers end with the assignment, not with another handler's failure: their messages are not redelivered before that.
    const step = createStep(stage.name, retry, messages?.isUnordered ? own.over : signal);
    const isGone = () => batch.isGone() || signal.aborted || own !== epoch;
    for (const group of received.groups(partition, batch.messages, step)) {
      if (isGone()) return;
      own.oldest.set(partition, Number(group[0]!.raw.timestamp));
      const task = untilRoom(own, isGone).then(() => handleGroup(own, partition, group, { step, signal }));
      try {
        await whileBeating(task, heartbeat);
      } catch (error) {
        own.fail(error);
        const late = setTimeout(() => log.warn({ partition, err: error }, STUCK), STUCK_MS).unref();
        await task.catch(() => {});
        clearTimeout(late);
        if (mode === 'stopped') return;
        if (!isFromKafka(error) && !isAbort(error)) deps.onFatal(error);
        throw error;
      }
      // Reassigned meanwhile: the new owner reads these messages again and commits their offsets.
      if (own !== epoch) return;
      const { offset } = group.at(-1)!.raw;
      const next = BigInt(offset) + 1n;
      own.handled.set(partition, next);
      deps.onHandled?.(partition, next);
      batch.resolveOffset(offset);
      await heartbeat();
    }
    own.oldest.delete(partition);
    // Pause so that the next fetch returns more messages to handle together: the busier the partition, the longer.
    if (stage.handleAll) await sleep(Math.min(batch.messages.length, MAX_GATHER_MS));
  }

  function endEpoch(): void {
    epoch.end();
    messages?.leave(epoch);
  }

  function onAssigned(partitions: number[]): void {
    // All handlers of the old assignment have settled (patched-kafkajs.ts); a straggler would find its epoch ended.
    endEpoch();
    epoch = newEpoch();
    // A rebalance during shutdown starts nothing.
    if (mode === 'stopped') epoch.end();
    else mode = 'consuming';
    stage.assigned?.(partitions, createStep(stage.name, retry, epoch.over));
    log.info({ partitions }, 'partitions assigned');
    metrics.rebalances.inc();
    metrics.partitions.set(partitions.length);
    markJoined();
  }

  member.join({ onBatch, onAssigned, onReplaced: () => metrics.restarts.inc(), onFatal: deps.onFatal });
  let isCommitting = false;
  const timer = setInterval(async () => {
    if (isCommitting) return;
    isCommitting = true;
    await commitOffsets().catch((error) => log.debug({ err: error }, 'offset commit failed: it is retried'));
    isCommitting = false;
  }, stage.commitMs ?? COMMIT_MS);

  return {
    joined,
    lagSeconds() {
      const oldest = Math.min(Date.now(), ...epoch.oldest.values(), ...epoch.inFlight.oldest());
      return (Date.now() - oldest) / 1_000;
    },
    async stop() {
      mode = 'stopped';
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

/** Labels are resolved once: the counters are incremented for every group of messages. */
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

/** Sends heartbeats until the task settles. Rejects with the first error of the task or a heartbeat. */
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
