/**
 * Webhooks in every API process: one process at a time records events, all of them send deliveries. Polls at most twice per second;
 * without webhooks, only to see whether there are any.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createRetry } from '../../../pipeline/engine/retry.ts';
import { createLease } from '../../../pipeline/stores/lease.ts';
import type { ConfigOf } from '../../../schemas/config.ts';
import { createDeliverEvents, type DeliverDependencies } from './deliver-events.ts';
import { createPostEvent } from './post-event.ts';
import { createResolve, type Lookup } from './public-addresses.ts';
import { createRecordEvents, type RecordDependencies } from './record-events.ts';

interface WebhookDependencies
  extends RecordDependencies,
    Omit<DeliverDependencies, 'config' | 'post' | 'stopping' | 'breakingOff'> {
  config: ConfigOf<'api'>;
  lookup?: Lookup;
}

const EVERY_MS = 500;
const LEASE_MS = 5_000;
/** Grace period for requests in flight at shutdown. */
const LAST_ANSWERS_MS = 2_000;

export function startWebhooks(deps: WebhookDependencies): { stop(): Promise<void> } {
  const { config, counters, deliveries, webhooks, metrics, log } = deps;
  const stopping = new AbortController();
  const breakingOff = new AbortController();
  const { signal } = stopping;
  const lease = createLease(counters, 'webhook events', LEASE_MS);
  const post = createPostEvent(
    createResolve(config.webhookAllowPrivate, deps.lookup),
    config.webhookTimeoutMs,
  );
  // rate() sees the first failure only if the series existed before it.
  for (const outcome of ['delivered', 'retried', 'failed']) metrics.deliveries.inc({ outcome }, 0);
  const recordEvents = createRecordEvents(deps);
  const deliverer = createDeliverEvents({ ...deps, post, stopping: signal, breakingOff: breakingOff.signal });

  /** Concurrent runs are harmless; the lease avoids the work. */
  async function recordAndGiveUp(): Promise<void> {
    if ((await webhooks.active()).length === 0) return;
    if (!(await lease.take())) return;
    await recordEvents(signal);
    const failed = await deliveries.giveUp();
    if (failed > 0) metrics.deliveries.inc({ outcome: 'failed' }, failed);
  }

  const retry = createRetry(log, { when: () => !signal.aborted, maxMs: 5_000, ref: false });
  async function repeat(what: string, work: () => Promise<void>): Promise<void> {
    while (!signal.aborted) {
      await retry(what, work, signal);
      await sleep(EVERY_MS, undefined, { signal, ref: false });
    }
  }
  const loops = [
    repeat('record events for webhooks', recordAndGiveUp),
    repeat('send events to webhooks', () => deliverer.round()),
  ].map((loop) => loop.catch(() => {}));

  return {
    async stop() {
      stopping.abort();
      await Promise.all(loops);
      const late = setTimeout(() => breakingOff.abort(), LAST_ANSWERS_MS);
      await deliverer.settled();
      clearTimeout(late);
      await lease.end();
    },
  };
}
