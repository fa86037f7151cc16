/** An addition to the specification: webhooks, /v1/webhooks. */

import { randomUUID } from 'node:crypto';
import { newWebhookSecret } from '../../../pipeline/stores/webhooks.ts';
import { deliveryQuery } from '../../../schemas/http-queries.ts';
import { changeWebhook, createWebhook } from '../../../schemas/http-webhooks.ts';
import type { WebhookDocument } from '../../../schemas/webhook-documents.ts';
import { type Answer, direct, type Prepare, send } from '../../http/change.ts';
import type { Context, Handler } from '../../http/context.ts';
import { createTokenBuckets, secondsUntil } from '../../http/limit-rate.ts';
import { createPublicAddress, nextPage, readQuery } from '../../http/pages.ts';
import { notFound, Problem } from '../../http/problem.ts';
import { parseId, validate } from '../../http/validate.ts';
import type { Dependencies } from '../shared.ts';
import { createManageWebhooks, WebhookRefused, type WithSecret } from './manage-webhooks.ts';
import { toDelivery, toDeliveryDetails, toWebhook } from './webhook-records.ts';

export const webhookPath = '/v1/webhooks';
const LISTED = 100;
/** Test events of a partner: each makes the service send a request to an address that the partner chooses. */
const TESTS_BURST = 10;
const TESTS_PER_SECOND = 10 / 60;

function problemOf(error: unknown): unknown {
  if (!(error instanceof WebhookRefused)) return error;
  if (error.code === 'too_many_webhooks')
    return new Problem(error.code, error.message, { headers: { 'Retry-After': '60' } });
  if (error.code !== 'bad_url') return new Problem(error.code, error.message);
  const { message } = error;
  return new Problem('invalid_body', `url ${message}.`, { errors: [{ path: 'url', message }] });
}
const refusing = <T>(work: Promise<T>): Promise<T> =>
  work.catch((error) => {
    throw problemOf(error);
  });

export function createWebhooks(deps: Dependencies) {
  const { webhooks, deliveries, config } = deps;
  const manage = createManageWebhooks(deps);
  const addressOf = createPublicAddress(config);
  const answerOf = (status: number, value: unknown, location?: string): Answer => ({
    status,
    body: JSON.stringify(value),
    ...(location ? { location: addressOf(location) } : {}),
  });
  const answer = (ctx: Context, value: unknown) => send(ctx, answerOf(200, value));
  const withSecret = ({ webhook, secret }: WithSecret) => ({ ...toWebhook(webhook), secret });

  async function webhookOf(ctx: Context): Promise<WebhookDocument> {
    const found = await webhooks.find(ctx.state.scope.partner, parseId(ctx.params.webhook_id));
    if (!found) throw notFound();
    return found;
  }

  const requireFound = async (ctx: Context) => void (await webhookOf(ctx));

  const create: Prepare = (ctx) => {
    const body = validate(createWebhook, ctx.request.body);
    const { partner } = ctx.state.scope;
    return direct({
      intend: manage.draw,
      async apply(drawn) {
        const made = await refusing(manage.register(partner, body, drawn));
        return answerOf(201, withSecret(made), `${webhookPath}/${drawn.id}`);
      },
    });
  };

  const list: Handler = async (ctx) =>
    answer(ctx, (await webhooks.list(ctx.state.scope.partner)).map(toWebhook));

  const get: Handler = async (ctx) => answer(ctx, toWebhook(await webhookOf(ctx)));

  const change: Prepare = (ctx) => {
    const { active, ...rest } = validate(changeWebhook, ctx.request.body);
    const id = parseId(ctx.params.webhook_id);
    const changes = { ...rest, ...(active === undefined ? {} : { isActive: active }) };
    return direct({
      intend: () => requireFound(ctx),
      async apply() {
        if (!(await refusing(manage.change(ctx.state.scope.partner, id, changes)))) throw notFound();
        return { status: 204 };
      },
    });
  };

  const remove: Prepare = (ctx) =>
    direct({
      intend: () => requireFound(ctx),
      async apply() {
        await manage.remove(ctx.state.scope.partner, parseId(ctx.params.webhook_id));
        return { status: 204 };
      },
    });

  const rotate: Prepare = (ctx) =>
    direct({
      async intend() {
        await requireFound(ctx);
        return newWebhookSecret();
      },
      async apply(secret) {
        const id = parseId(ctx.params.webhook_id);
        const rotated = await manage.rotate(ctx.state.scope.partner, id, secret);
        if (!rotated) throw notFound();
        return answerOf(200, withSecret(rotated));
      },
    });

  function requireActive({ isActive }: WebhookDocument): void {
    if (!isActive) throw new Problem('webhook_disabled', 'The webhook is disabled: enable it first.');
  }
  const tests = createTokenBuckets(TESTS_PER_SECOND, TESTS_BURST);
  function limitTests(partner: string): void {
    const left = tests.take(partner);
    if (left >= 0) return;
    throw new Problem('rate_limited', `At most ${TESTS_BURST} test events may be sent per minute.`, {
      headers: { 'Retry-After': secondsUntil(left, TESTS_PER_SECOND) },
    });
  }
  const toBeSent = (webhook: number, delivery: number) =>
    answerOf(202, { delivery_id: delivery }, `${webhookPath}/${webhook}/deliveries/${delivery}`);

  const test: Prepare = (ctx) =>
    direct({
      async intend() {
        requireActive(await webhookOf(ctx));
        limitTests(ctx.state.scope.partner);
        return manage.drawDelivery();
      },
      async apply(delivery) {
        const webhook = parseId(ctx.params.webhook_id);
        await manage.test(webhook, delivery);
        return toBeSent(webhook, delivery);
      },
    });

  const listDeliveries: Handler = async (ctx) => {
    const query = { limit: LISTED, ...readQuery(ctx, deliveryQuery) };
    const { limit, cursor, status } = query;
    const webhook = await webhookOf(ctx);
    const found = await deliveries.list(webhook._id, { limit: limit + 1, before: cursor, status });
    const page = found.slice(0, limit);
    if (found.length > limit)
      ctx.set('Link', nextPage(addressOf(ctx.path), { ...query, cursor: page.at(-1)!._id }));
    answer(ctx, page.map(toDelivery));
  };

  const getDelivery: Handler = async (ctx) => {
    const id = parseId(ctx.params.delivery_id);
    const delivery = await deliveries.find((await webhookOf(ctx))._id, id);
    if (!delivery) throw notFound();
    answer(ctx, toDeliveryDetails(delivery));
  };

  const redeliver: Prepare = (ctx) => {
    const id = parseId(ctx.params.delivery_id);
    return direct({
      async intend() {
        requireActive(await webhookOf(ctx));
        return randomUUID();
      },
      async apply(request) {
        const webhook = parseId(ctx.params.webhook_id);
        if (!(await manage.sendAgain(webhook, id, request))) throw notFound();
        return toBeSent(webhook, id);
      },
    });
  };

  return { create, list, get, change, remove, rotate, test, listDeliveries, getDelivery, redeliver };
}
