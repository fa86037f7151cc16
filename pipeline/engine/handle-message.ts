/**
 * Handles the messages of a stage one by one. Failures are retried. If a message keeps failing, or crashes processes (a poison message),
 * only its job fails.
 */

import type { Logger } from '../runtime/log.ts';
import { noTracer, type Tracer } from '../runtime/traces.ts';
import type { Epoch } from './epoch.ts';
import { countFailures, FAILURE_PAUSE_MS, isFromKafka, MAX_FAILURES } from './failures.ts';
import type { Retry } from './retry.ts';
import type { Delivery, SingleStage } from './stage.ts';

/** Which message of each partition was in flight when a process died. */
export interface CrashRecords {
  /** A new owner starts reading here. True if it must take the messages one by one. */
  begin(stage: string, partition: number, offset: string, owner: string): Promise<boolean>;
  /** The owner lost the partition without crashing. */
  leave(stage: string, partition: number, owner: string): Promise<void>;
  /** Records that the message is about to be handled. Returns how many processes have died handling it. */
  take(stage: string, partition: number, offset: string): Promise<number>;
  release(stage: string, partition: number): Promise<void>;
}

interface Dependencies {
  log: Logger;
  retry: Retry;
  crashes: CrashRecords;
  /** Records for the operator why a job failed. */
  recordReason(job: number, reason: string): Promise<void>;
  tracer?: Tracer;
  metrics: {
    failures: { inc(): void };
    givenUp: { inc(): void };
    duration: { observe(seconds: number): void };
  };
  onFatal(error: unknown): void;
}

const AGAIN_MS = 1_000;

export function createHandleMessages(
  stage: SingleStage,
  { log, retry, crashes, recordReason, metrics, tracer = noTracer, onFatal }: Dependencies,
) {
  /** Of an unordered stage. */
  const running = new Set<Promise<void>>();

  async function giveUp(delivery: Delivery, reason: string): Promise<void> {
    metrics.givenUp.inc();
    const { value } = delivery.message;
    if ('job' in value)
      await retry('record the reason', () => recordReason(value.job, reason), delivery.step.signal);
    await stage.giveUp!(delivery);
  }

  function recordSpan({ trace, partition, offset }: Delivery, start: number, failed = false): void {
    if (!trace) return;
    const attributes = { partition, offset: String(offset) };
    tracer.record({
      name: stage.name,
      kind: 'consumer',
      ...trace,
      start,
      end: Date.now(),
      attributes,
      failed,
    });
  }

  async function handle(delivery: Delivery): Promise<void> {
    const { step, partition, offset } = delivery;
    const began = Date.now();
    for (const failures = countFailures(); ; ) {
      try {
        await stage.handle(delivery);
        return recordSpan(delivery, began);
      } catch (error) {
        if (step.signal.aborted || isFromKafka(error) || !stage.giveUp) throw error;
        failures.add(error);
        metrics.failures.inc();
        const { count, reason } = failures;
        log.error(
          { err: error, partition, offset: String(offset), failures: count },
          'handling a message failed',
        );
        if (count === MAX_FAILURES) recordSpan(delivery, began, true);
        if (count === MAX_FAILURES) return giveUp(delivery, `${stage.name}: ${reason}`);
        await step.pause(FAILURE_PAUSE_MS * count);
      }
    }
  }

  /** Records the message first, so that the next owner knows which one crashed the process. */
  async function handleWithCare(delivery: Delivery): Promise<void> {
    const { partition, step } = delivery;
    const offset = String(delivery.offset);
    const take = () => crashes.take(stage.name, partition, offset);
    const deaths = await retry('note the message in hand', take, step.signal);
    if (deaths < MAX_FAILURES) return handle(delivery);
    log.error({ partition, offset, deaths }, 'giving up on a message: processes have died while handling it');
    return giveUp(delivery, `${stage.name}: ${deaths} processes died while handling it`);
  }

  /** Whether one of the next messages may have crashed a previous owner of the partition. */
  async function isSuspect(
    { begun, id }: Epoch,
    { partition, offset }: Delivery,
    signal: AbortSignal,
  ): Promise<boolean> {
    const isFirst = !begun.has(partition);
    begun.add(partition);
    if (!isFirst || !stage.giveUp) return false;
    const begin = () => crashes.begin(stage.name, partition, String(offset), id);
    return retry('note where the partition begins', begin, signal);
  }

  async function handleCarefully(deliveries: Delivery[]): Promise<void> {
    try {
      for (const delivery of deliveries) await handleWithCare(delivery);
    } finally {
      await crashes.release(stage.name, deliveries[0]!.partition).catch(() => {});
    }
  }

  /** Retries Kafka failures until the assignment ends; then the message is redelivered to the partition's next owner. */
  async function handleConcurrently({ inFlight }: Epoch, delivery: Delivery): Promise<void> {
    const { partition, offset, step } = delivery;
    for (;;) {
      const began = performance.now();
      try {
        await handle(delivery);
        metrics.duration.observe((performance.now() - began) / 1_000);
        return inFlight.delete(partition, offset);
      } catch (error) {
        if (step.signal.aborted) return;
        if (!isFromKafka(error)) return onFatal(error);
        log.warn({ err: error, partition, offset: String(offset) }, 'handling the message again');
        await step.pause(AGAIN_MS).catch(() => {});
      }
    }
  }

  return {
    isUnordered: stage.isUnordered ?? false,

    /**
     * Resolves when the messages of one partition are handled; for an unordered stage, when their handlers have started. The signal aborts
     * the wait.
     */
    async handle(epoch: Epoch, deliveries: Delivery[], signal: AbortSignal): Promise<void> {
      const [first] = deliveries as [Delivery];
      if (await isSuspect(epoch, first, signal))
        return handleCarefully(deliveries.map((each) => ({ ...each, step: each.step.until(signal) })));
      const began = performance.now();
      if (!stage.isUnordered) {
        await allSettled(deliveries.map(handle));
        return metrics.duration.observe((performance.now() - began) / 1_000);
      }
      for (const delivery of deliveries) {
        epoch.inFlight.add(delivery.partition, delivery.offset, epoch.oldest.get(delivery.partition)!);
        const task = handleConcurrently(epoch, delivery);
        running.add(task);
        void task.finally(() => running.delete(task));
      }
    },

    /** The assignment ended without a crash. */
    leave({ begun, id }: Epoch): void {
      for (const partition of stage.giveUp ? begun : [])
        crashes.leave(stage.name, partition, id).catch(() => {});
    },

    /** Resolves when no message is in flight. Call it after the last assignment has ended. */
    settled: () => Promise.all(running),
  };
}

/** Rejects with the first failure, after every task has settled. */
async function allSettled(tasks: Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(tasks)).find(({ status }) => status === 'rejected');
  if (failed) throw (failed as PromiseRejectedResult).reason;
}
