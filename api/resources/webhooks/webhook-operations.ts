/** An addition to the specification: webhooks, /v1/webhooks. */
import { z } from 'zod';
import {
  changeWebhook,
  createdWebhook,
  createWebhook,
  deliveryId,
  webhook,
} from '../../../schemas/http-webhooks.ts';
import { answer, direct, sendJson } from '../../http/change.ts';
import type { Context } from '../../http/context.ts';
import { createTokenBuckets, secondsUntil } from '../../http/limit-rate.ts';
import { change, type Operation, read } from '../../http/operation.ts';
import { notFound, Problem } from '../../http/problem.ts';
import { example, json, location, nothing, tagged } from '../../http/responses.ts';
import { parseId } from '../../http/validate.ts';
import { newWebhookSecret } from '../../stores/webhooks.ts';
import type { Dependencies } from '../shared.ts';
import { createManageWebhooks, type WithSecret } from './manage-webhooks.ts';
import { createWebhookAccess, oneWebhook, webhookOperation, webhookPath } from './webhook-access.ts';
import { toWebhook } from './webhook-records.ts';

/** Limits a partner's test events, because each sends a request to an address of the partner's choice. */
const TESTS_BURST = 10;
const TESTS_PER_SECOND = 10 / 60;

export function webhookOperations(deps: Dependencies): Operation[] {
  const { webhooks } = deps;
  const manage = createManageWebhooks(deps);
  const { webhookOf, requireActive, toBeSent } = createWebhookAccess(deps);
  const requireFound = async (ctx: Context) => void (await webhookOf(ctx));
  const withSecret = ({ webhook: stored, secret }: WithSecret) => ({ ...toWebhook(stored), secret });

  const list = read({
    ...webhookOperation,
    path: webhookPath,
    operationId: 'listWebhooks',
    summary: 'List webhooks',
    description: 'All of them, oldest first.',
    responses: tagged(json(z.array(webhook), 'Webhooks')),
    handle: async (ctx) => sendJson(ctx, (await webhooks.list(ctx.state.scope.partner)).map(toWebhook)),
  });

  const create = change({
    ...webhookOperation,
    method: 'post',
    path: webhookPath,
    operationId: 'createWebhook',
    summary: 'Register a webhook',
    description:
      'The webhook gets an event for every job that ends from now on. The `secret` is returned only here; if you lose it, rotate it.',
    body: {
      schema: createWebhook,
      examples: {
        webhook: example('A webhook', {
          url: 'https://hooks.acme.example/headrace',
          description: 'production',
        }),
      },
    },
    responses: { 201: json(createdWebhook, 'The webhook, with its secret', { headers: location }) },
    problems: ['webhook_exists', 'too_many_webhooks'],
    prepare(ctx, body) {
      const { partner } = ctx.state.scope;
      return direct({
        intend: manage.draw,
        async apply(drawn) {
          const made = await manage.register(partner, body, drawn);
          return answer(201, withSecret(made), `${webhookPath}/${drawn.id}`);
        },
      });
    },
  });

  const get = read({
    ...webhookOperation,
    path: oneWebhook,
    operationId: 'getWebhook',
    summary: 'Get a webhook',
    description: 'Without its secrets.',
    responses: tagged(json(webhook, 'The webhook')),
    handle: async (ctx) => sendJson(ctx, toWebhook(await webhookOf(ctx))),
  });

  const update = change({
    ...webhookOperation,
    method: 'patch',
    path: oneWebhook,
    operationId: 'changeWebhook',
    summary: 'Change a webhook',
    description:
      'Changes the given fields. A re-enabled webhook receives events for jobs that end from then on; pending deliveries go to the new URL.',
    body: { schema: changeWebhook },
    responses: { 204: nothing('Changed') },
    problems: ['webhook_exists'],
    prepare(ctx, { active, ...rest }) {
      const id = parseId(ctx.params.webhook_id);
      const changes = { ...rest, ...(active === undefined ? {} : { isActive: active }) };
      return direct({
        intend: () => requireFound(ctx),
        async apply() {
          if (!(await manage.change(ctx.state.scope.partner, id, changes))) throw notFound();
          return { status: 204 };
        },
      });
    },
  });

  const remove = change({
    ...webhookOperation,
    method: 'delete',
    path: oneWebhook,
    operationId: 'deleteWebhook',
    summary: 'Delete a webhook',
    description: 'Also deletes the log of its deliveries. Pending deliveries are no longer sent.',
    responses: { 204: nothing('Deleted') },
    prepare: (ctx) =>
      direct({
        intend: () => requireFound(ctx),
        async apply() {
          await manage.remove(ctx.state.scope.partner, parseId(ctx.params.webhook_id));
          return { status: 204 };
        },
      }),
  });

  const rotate = change({
    ...webhookOperation,
    method: 'post',
    path: `${oneWebhook}/secret`,
    operationId: 'rotateWebhookSecret',
    summary: 'Replace the secret of a webhook',
    description:
      'Returns the new secret. For 24 hours deliveries are signed with both secrets, so that you can update the receiver.',
    responses: { 200: json(createdWebhook, 'The webhook, with its new secret') },
    prepare: (ctx) =>
      direct({
        async intend() {
          await requireFound(ctx);
          return newWebhookSecret();
        },
        async apply(secret) {
          const id = parseId(ctx.params.webhook_id);
          const rotated = await manage.rotate(ctx.state.scope.partner, id, secret);
          if (!rotated) throw notFound();
          return answer(200, withSecret(rotated));
        },
      }),
  });

  const tests = createTokenBuckets(TESTS_PER_SECOND, TESTS_BURST);
  function limitTests(partner: string): void {
    const left = tests.take(partner);
    if (left >= 0) return;
    throw new Problem('rate_limited', `Limit of ${TESTS_BURST} test events per minute reached.`, {
      headers: { 'Retry-After': secondsUntil(left, TESTS_PER_SECOND) },
    });
  }
  const test = change({
    ...webhookOperation,
    method: 'post',
    path: `${oneWebhook}/test`,
    operationId: 'testWebhook',
    summary: 'Send a test event',
    description:
      'Sends an event of type `webhook.test`, at most ten per minute. The delivery shows what the receiver answered.',
    responses: { 202: json(deliveryId, 'Queued', { headers: location }) },
    problems: ['webhook_disabled'],
    prepare: (ctx) =>
      direct({
        async intend() {
          await requireActive(ctx);
          limitTests(ctx.state.scope.partner);
          return manage.drawDelivery();
        },
        async apply(delivery) {
          const id = parseId(ctx.params.webhook_id);
          await manage.test(id, delivery);
          return toBeSent(id, delivery);
        },
      }),
  });

  return [list, create, get, update, remove, rotate, test];
}
