/**
 * Handles the messages of a stage one by one. A failure of our own is tried again; one that repeats, and a message that processes
 * die of, is the end of its job and of no other.
 */
import { countFailures, FAILURE_PAUSE_MS, MAX_FAILURES } from '../runtime/failures.ts';
import type { Logger } from '../runtime/log.ts';
import type { Retry } from '../runtime/retry.ts';
import type { Step } from '../runtime/step.ts';
import { noTracer, type Tracer } from '../runtime/traces.ts';
import { isFromKafka } from './group-member.ts';
import type { Delivery, SingleStage } from './stage.ts';

/** Which message of each partition a process had in hand when it died. */
export interface CrashRecords {
  /** A new owner begins to read here. True if messages have to be taken one by one. */
  begin(stage: string, partition: number, offset: string): Promise<boolean>;
  /** The message is about to be handled. Gives how many processes have died with it in hand. */
  take(stage: string, partition: number, offset: string): Promise<number>;
  release(stage: string, partition: number): Promise<void>;
}

interface Dependencies {
  log: Logger;
  retry: Retry;
  crashes: CrashRecords;
  /** Keeps for the operator why a job was given up. */
  recordReason(job: number, reason: string): Promise<void>;
  tracer?: Tracer;
  metrics: { failures: { inc(): void }; givenUp: { inc(): void } };
}

export function createHandleMessage(
  stage: SingleStage,
  { log, retry, crashes, recordReason, metrics, tracer = noTracer }: Dependencies,
) {
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

  /** Noted before it is handled: whoever comes after us knows what we died of. */
  async function handleWithCare(delivery: Delivery): Promise<void> {
    const { partition, step } = delivery;
    const offset = String(delivery.offset);
    const take = () => crashes.take(stage.name, partition, offset);
    const deaths = await retry('note the message in hand', take, step.signal);
    if (deaths < MAX_FAILURES) return handle(delivery);
    log.error({ partition, offset, deaths }, 'giving up on a message: processes have died while handling it');
    return giveUp(delivery, `${stage.name}: ${deaths} processes died while handling it`);
  }

  return {
    handle,

    /** The first messages that a new owner gets: the owners before it may have died of one of them. */
    async handleFirst(partition: number, deliveries: Delivery[], step: Step): Promise<void> {
      const first = String(deliveries[0]!.offset);
      const begin = () => crashes.begin(stage.name, partition, first);
      if (!(await retry('note where the partition begins', begin, step.signal)))
        return allSettled(deliveries.map(handle));
      try {
        for (const delivery of deliveries) await handleWithCare(delivery);
      } finally {
        await crashes.release(stage.name, partition).catch(() => {});
      }
    },
  };
}

/** Rejects with the first failure, but not before every task has ended: nothing goes on behind the caller's back. */
export async function allSettled(tasks: Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(tasks)).find(({ status }) => status === 'rejected');
  if (failed) throw (failed as PromiseRejectedResult).reason;
}
