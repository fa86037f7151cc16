/** An addition to the specification: webhooks, /v1/webhooks. */
import { secretsOf } from '../../pipeline/runtime/seal.ts';
import { webhookSecrets } from '../../pipeline/stores/webhooks.ts';
import { changeWebhook, createWebhook } from '../../schemas/http-webhooks.ts';
import type { WebhookDocument } from '../../schemas/webhook-documents.ts';
import type { Context, Dependencies, Handler } from '../context.ts';
import { claim, send } from '../idempotent.ts';
import { parseId } from '../ids.ts';
import { createTokenBuckets, secondsUntil } from '../middleware/limit-rate.ts';
import { notFound, Problem } from '../problem.ts';
import { createPublicAddress } from '../public-address.ts';
import { validate } from '../validate.ts';
import { createManageWebhooks, WebhookRefused, type WithSecret } from '../webhooks/manage-webhooks.ts';
import { deliveryQuery, nextPage, readQuery } from './pages.ts';
import { toDelivery, toDeliveryDetails, toWebhook } from './webhook-records.ts';

export const webhookPath = '/v1/webhooks';
const LISTED = 100;
/** Test events of a partner: each makes us send a request to an address of his choice. */
const TESTS_BURST = 10;
const TESTS_PER_SECOND = 10 / 60;

function problemOf(error: unknown): unknown {
  if (!(error instanceof WebhookRefused)) return error;
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
  const answer = (ctx: Context, status: number, value: unknown, location?: string) =>
    send(ctx, {
      status,
      body: JSON.stringify(value),
      ...(location ? { location: addressOf(location) } : {}),
    });
  const withSecret = ({ webhook, secret }: WithSecret) => ({ ...toWebhook(webhook), secret });

  async function webhookOf(ctx: Context): Promise<WebhookDocument> {
    const found = await webhooks.find(ctx.state.scope.partner, parseId(ctx.params.webhook_id));
    if (!found) throw notFound();
    return found;
  }

  /** The response of a request that is repeated is made anew: its secret is stored nowhere but in the webhook, encrypted. */
  async function createdBy(partner: string, url: string, token: string | undefined): Promise<WithSecret> {
    const known = await webhooks.findByUrl(partner, url);
    if (!known || token === undefined || known.requestToken !== token)
      throw new Problem('webhook_exists', 'There is a webhook with this URL already.');
    return { webhook: known, secret: webhookSecrets(secretsOf(config), known, new Date()).at(-1)! };
  }

  const create: Handler = async (ctx) => {
    const body = validate(createWebhook, ctx.request.body);
    const { partner } = ctx.state.scope;
    const mark = await claim(deps, ctx);
    const registered = await refusing(manage.register(partner, body, mark?.token));
    const made = registered === 'taken' ? await createdBy(partner, body.url, mark?.token) : registered;
    answer(ctx, 201, withSecret(made), `${webhookPath}/${made.webhook._id}`);
  };

  const list: Handler = async (ctx) =>
    answer(ctx, 200, (await webhooks.list(ctx.state.scope.partner)).map(toWebhook));

  const get: Handler = async (ctx) => answer(ctx, 200, toWebhook(await webhookOf(ctx)));

  /** Doing it twice changes nothing, so an Idempotency-Key is only compared. */
  const change: Handler = async (ctx) => {
    const { active, ...rest } = validate(changeWebhook, ctx.request.body);
    await claim(deps, ctx);
    const id = parseId(ctx.params.webhook_id);
    const changes = { ...rest, ...(active === undefined ? {} : { isActive: active }) };
    if (!(await refusing(manage.change(ctx.state.scope.partner, id, changes)))) throw notFound();
    send(ctx, { status: 204 });
  };

  const remove: Handler = async (ctx) => {
    if (!(await manage.remove(ctx.state.scope.partner, parseId(ctx.params.webhook_id)))) throw notFound();
    send(ctx, { status: 204 });
  };

  const rotate: Handler = async (ctx) => {
    const rotated = await manage.rotate(ctx.state.scope.partner, parseId(ctx.params.webhook_id));
    if (!rotated) throw notFound();
    answer(ctx, 200, withSecret(rotated));
  };

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
  const answerDelivery = (ctx: Context, webhook: WebhookDocument, id: number) =>
    answer(ctx, 202, { delivery_id: id }, `${webhookPath}/${webhook._id}/deliveries/${id}`);

  const test: Handler = async (ctx) => {
    const webhook = await webhookOf(ctx);
    requireActive(webhook);
    limitTests(webhook.partner);
    answerDelivery(ctx, webhook, await manage.test(webhook));
  };

  const listDeliveries: Handler = async (ctx) => {
    const query = { limit: LISTED, ...readQuery(ctx, deliveryQuery) };
    const { limit, cursor, status } = query;
    const webhook = await webhookOf(ctx);
    const found = await deliveries.list(webhook._id, { limit: limit + 1, before: cursor, status });
    const page = found.slice(0, limit);
    if (found.length > limit)
      ctx.set('Link', nextPage(addressOf(ctx.path), { ...query, cursor: page.at(-1)!._id }));
    answer(ctx, 200, page.map(toDelivery));
  };

  const getDelivery: Handler = async (ctx) => {
    const id = parseId(ctx.params.delivery_id);
    const delivery = await deliveries.find((await webhookOf(ctx))._id, id);
    if (!delivery) throw notFound();
    answer(ctx, 200, toDeliveryDetails(delivery));
  };

  const redeliver: Handler = async (ctx) => {
    const id = parseId(ctx.params.delivery_id);
    const webhook = await webhookOf(ctx);
    requireActive(webhook);
    if (!(await manage.sendAgain(webhook, id))) throw notFound();
    answerDelivery(ctx, webhook, id);
  };

  return { create, list, get, change, remove, rotate, test, listDeliveries, getDelivery, redeliver };
}
