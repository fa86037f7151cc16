/**
 * Runs one stage over one topic. Messages of a partition are handled in order, or concurrently if the stage is unordered; partitions in
 * parallel. Its modes:
 *
 *   joining ─► consuming ─► stopped
 *
 *   consuming  from the first assignment on. Each assignment is an epoch (epoch.ts): work of an old one resolves no offsets.
 *   stopped    handlers are aborted, the last offsets committed, the group left.
 *
 * Heartbeats are sent while a handler works. What a heartbeat throws (a rebalance) aborts the handler and is rethrown: the next owner of
 * the partition begins at the committed offset. Offsets are committed by a timer, up to the stage's committable offset and the first
 * message that is not handled.
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
  /** The assignment is over, or the consumer stops. */
  isGone(): boolean;
}

/** A member of the stage's consumer group (kafka/group-member.ts). */
export interface Member {
  readonly topic: string;
  join(handlers: {
    onBatch(batch: FetchedBatch): Promise<void>;
    onAssigned(partitions: number[]): void;
    /** The consumer failed, and another took its place. */
    onReplaced(): void;
    onFatal(error: unknown): void;
  }): void;
  commitOffsets(offsets: ReadonlyMap<number, CommittedOffset>): Promise<void>;
  leave(): Promise<void>;
}

export interface Consumption {
  stop(): Promise<void>;
  /** Resolves when the first partitions have been assigned. */
  joined: Promise<void>;
  /** The age of the oldest message that was fetched and is not handled; 0 if there is none. */
  lagSeconds(): number;
}

export const HEARTBEAT_MS = 300;
const COMMIT_MS = 500;
const MAX_GATHER_MS = 20;
/** A handler whose assignment has failed is to end at once; until it does, this member cannot join the group again. */
const UNENDED_MS = 10_000;
const UNENDED = 'a handler has not ended 10 s after its assignment failed: the stage waits for it';
/** Messages in flight of an unordered stage, most of them queued: a bound for memory, far above what is common. */
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
  /** With the first offset of a partition that is not handled. */
  onHandled?(partition: number, next: bigint): void;
  /** Called once, for a failure that no retry repairs. The process is to end. */
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

  async function handleSome(
    own: Epoch,
    partition: number,
    some: Received[],
    { step, signal }: { step: Step; signal: AbortSignal },
  ): Promise<void> {
    const deliveries = await received.deliveries(partition, some, signal);
    if (messages && deliveries.length > 0) await messages.handle(own, deliveries, signal);
    if (stage.handleAll) {
      const began = performance.now();
      await stage.handleAll(partition, deliveries, step);
      metrics.duration.observe((performance.now() - began) / 1_000);
    }
    metrics.messages.inc(some.length);
    metrics.bytes.inc(some.reduce((sum, { raw }) => sum + (raw.value?.length ?? 0), 0));
  }

  async function untilRoom({ inFlight }: Epoch, isGone: () => boolean): Promise<void> {
    while (inFlight.size >= MAX_IN_FLIGHT && !isGone()) await sleep(HEARTBEAT_MS);
  }

  async function onBatch(batch: FetchedBatch): Promise<void> {
    const { partition, heartbeat } = batch;
    const own = epoch;
    const signal = own.work();
    // What is handled concurrently ends with the assignment, not with a failure beside it: it is not redelivered before.
    const step = createStep(stage.name, retry, messages?.isUnordered ? own.over : signal);
    const isGone = () => batch.isGone() || signal.aborted || own !== epoch;
    for (const some of received.groups(partition, batch.messages, step)) {
      if (isGone()) return;
      own.oldest.set(partition, Number(some[0]!.raw.timestamp));
      const task = untilRoom(own, isGone).then(() => handleSome(own, partition, some, { step, signal }));
      try {
        await whileBeating(task, heartbeat);
      } catch (error) {
        own.fail(error);
        const late = setTimeout(() => log.warn({ partition, err: error }, UNENDED), UNENDED_MS).unref();
        await task.catch(() => {});
        clearTimeout(late);
        if (mode === 'stopped') return;
        if (!isFromKafka(error) && !isAbort(error)) deps.onFatal(error);
        throw error;
      }
      // Reassigned meanwhile: what was handled is read again, and its offset belongs to the new owner.
      if (own !== epoch) return;
      const { offset } = some.at(-1)!.raw;
      const next = BigInt(offset) + 1n;
      own.handled.set(partition, next);
      deps.onHandled?.(partition, next);
      batch.resolveOffset(offset);
      await heartbeat();
    }
    own.oldest.delete(partition);
    // Messages of the next moments are handled together: the more arrive, the longer the moment.
    if (stage.handleAll) await sleep(Math.min(batch.messages.length, MAX_GATHER_MS));
  }

  function endEpoch(): void {
    epoch.end();
    messages?.leave(epoch);
  }

  function onAssigned(partitions: number[]): void {
    // Every handler of the old assignment has settled (patched-kafkajs.ts). If one has not, it finds its epoch over.
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
