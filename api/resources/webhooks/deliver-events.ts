/**
 * Sends deliveries to their receivers. Each webhook has its own lane with a few requests in flight, so that a slow receiver delays no
 * other. A failing lane sends one request at a time, with backoff, until one succeeds.
 */
import { randomUUID } from 'node:crypto';
import { backoff } from '../../../pipeline/engine/retry.ts';
import type { Logger } from '../../../pipeline/runtime/log.ts';
import { secretsOf } from '../../../pipeline/runtime/seal.ts';
import { signEvent } from '../../../pipeline/runtime/sign-event.ts';
import type { Config } from '../../../schemas/config.ts';
import type { WebhookDocument } from '../../../schemas/webhook-documents.ts';
import type { Metrics } from '../../http/metrics.ts';
import { faultPoint } from '../../jobs/fault-points.ts';
import type { ApiStores } from '../../stores/api-stores.ts';
import type { Attempted, TakenDelivery } from '../../stores/deliveries.ts';
import { webhookSecrets } from '../../stores/webhooks.ts';
import type { PostEvent } from './post-event.ts';

export interface DeliverDependencies extends Pick<ApiStores, 'deliveries' | 'webhooks'> {
  config: Pick<Config, 'secret' | 'secretOld' | 'webhookTimeoutMs'>;
  post: PostEvent;
  metrics: Pick<Metrics, 'deliveries'>;
  log: Logger;
  /** Stops new attempts. */
  stopping: AbortSignal;
  /** Aborts attempts in flight. */
  breakingOff: AbortSignal;
}

interface Lane {
  /** Attempts. */
  inFlight: number;
  /** A look-up of due deliveries is in flight. */
  isFilling: boolean;
  /** Consecutive. */
  failures: number;
  pausedUntil: number;
}

const PER_WEBHOOK = 8;
const MAX_IN_FLIGHT = 1_000;
const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 3_600_000;
const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 30_000;
const GONE = 410;

const isSuccess = (code: number) => code >= 200 && code < 300;
const reasonOf = (error: unknown) => (error instanceof Error ? error.message : String(error)).slice(0, 300);

export function createDeliverEvents(deps: DeliverDependencies) {
  const { deliveries, webhooks, config, post, metrics, log, stopping, breakingOff } = deps;
  // Twice the limit: once for resolving the name, once for the request.
  const leaseMs = 2 * config.webhookTimeoutMs + 5_000;
  const lanes = new Map<number, Lane>();
  /** Attempts and look-ups of due deliveries. */
  const running = new Set<Promise<void>>();
  let inFlight = 0;
  let active = new Set<number>();
  /** The time of the last round, by the database's clock: deliveries due by then can be taken. */
  let at = new Date(0);

  function laneOf(webhook: number): Lane {
    const lane = lanes.get(webhook) ?? { inFlight: 0, isFilling: false, failures: 0, pausedUntil: 0 };
    lanes.set(webhook, lane);
    return lane;
  }

  async function attempt(webhook: WebhookDocument, delivery: TakenDelivery) {
    const began = performance.now();
    const ms = () => Math.round(performance.now() - began);
    try {
      // The database's clock: one for all processes.
      const takenAt = new Date(delivery.dueAt.getTime() - leaseMs);
      const secrets = webhookSecrets(secretsOf(config), webhook, takenAt);
      const headers = signEvent({ id: `msg_${delivery._id}`, at: takenAt, body: delivery.body }, secrets);
      faultPoint('webhooks:before-post');
      const code = await post(new URL(webhook.url), headers, delivery.body, breakingOff);
      faultPoint('webhooks:after-post');
      return { code, error: isSuccess(code) ? null : `answered ${code}`, ms: ms() };
    } catch (error) {
      breakingOff.throwIfAborted();
      return { code: null, error: reasonOf(error), ms: ms() };
    }
  }

  async function send(webhook: WebhookDocument, delivery: TakenDelivery) {
    const lane = laneOf(webhook._id);
    const made = await attempt(webhook, delivery);
    const isDelivered = made.code !== null && isSuccess(made.code);
    lane.failures = isDelivered ? 0 : lane.failures + 1;
    lane.pausedUntil = isDelivered
      ? 0
      : performance.now() + backoff(lane.failures, FIRST_PAUSE_MS, MAX_PAUSE_MS);
    const isGone = made.code === GONE;
    if (isGone) {
      await webhooks.disableGone(webhook);
      active.delete(webhook._id);
    }
    const retryMs = backoff(delivery.tries + 1, FIRST_RETRY_MS, MAX_RETRY_MS);
    const attempted: Attempted = { ...made, isDelivered, ...(isGone ? {} : { retryMs }) };
    const finished = await deliveries.finish(delivery, attempted);
    faultPoint('webhooks:after-finish');
    const outcome = finished?.status === 'pending' ? 'retried' : finished?.status;
    if (outcome) metrics.deliveries.inc({ outcome });
    if (!isDelivered)
      log.info({ webhook: webhook._id, delivery: delivery._id, ...made, outcome }, 'webhook delivery failed');
  }

  function track(work: Promise<void>): void {
    const one = work.finally(() => running.delete(one));
    running.add(one);
  }

  /** An aborted attempt is released for the next sender; if that fails, its lease expires. */
  async function start(webhook: WebhookDocument, delivery: TakenDelivery): Promise<void> {
    const lane = laneOf(webhook._id);
    lane.inFlight++;
    inFlight++;
    try {
      await send(webhook, delivery);
    } catch (error) {
      if (breakingOff.aborted) await deliveries.release(delivery).catch(() => {});
      else
        log.warn(
          { err: error, delivery: delivery._id },
          'webhook delivery not recorded: it will be sent again when its lease expires',
        );
    } finally {
      lane.inFlight--;
      inFlight--;
    }
    await fill(webhook._id);
  }

  /** Takes the next due delivery, then reads the webhook: an acknowledged change applies to every later attempt. */
  async function takeNext(id: number, limit: number) {
    const taken = await deliveries.take(id, { sender: randomUUID(), at, leaseMs, limit });
    if (taken.length === 0) return undefined;
    const webhook = await webhooks.read(id);
    if (webhook?.isActive && !stopping.aborted) return { taken, webhook };
    await Promise.all(taken.map((delivery) => deliveries.release(delivery)));
    return undefined;
  }

  /** The number of further deliveries that may be sent to the webhook now. */
  function roomOf(id: number, lane: Lane): number {
    const isPaused = performance.now() < lane.pausedUntil;
    if (stopping.aborted || !active.has(id) || isPaused) return 0;
    const room = lane.failures > 0 ? 1 : PER_WEBHOOK;
    return Math.min(room - lane.inFlight, MAX_IN_FLIGHT - inFlight);
  }

  /** Takes the webhook's due deliveries, as far as its lane has room. The next round retries failures. */
  async function fill(id: number): Promise<void> {
    const lane = laneOf(id);
    if (lane.isFilling) return;
    lane.isFilling = true;
    try {
      for (let room = roomOf(id, lane); room > 0; room = roomOf(id, lane)) {
        const next = await takeNext(id, room);
        if (!next) return;
        for (const delivery of next.taken) track(start(next.webhook, delivery));
      }
    } catch (error) {
      log.debug({ err: error, webhook: id }, 'could not take webhook deliveries');
    } finally {
      lane.isFilling = false;
    }
  }

  return {
    /** Starts due deliveries. */
    async round(): Promise<void> {
      active = new Set((await webhooks.active()).map(({ _id }) => _id));
      for (const [id, lane] of lanes)
        if (lane.inFlight === 0 && !lane.isFilling && !active.has(id)) lanes.delete(id);
      if (active.size === 0) return;
      const [now, pending] = await Promise.all([deliveries.now(), deliveries.pendingWebhooks()]);
      at = now;
      // Not awaited: a busy webhook must not delay the others.
      for (const id of pending) track(fill(id));
    },
    async settled(): Promise<void> {
      while (running.size > 0) await Promise.all(running);
    },
  };
}
