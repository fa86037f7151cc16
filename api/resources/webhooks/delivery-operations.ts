/** The log of deliveries to a webhook. */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { deliveryQuery } from '../../../schemas/http-queries.ts';
import { delivery, deliveryDetails, deliveryId } from '../../../schemas/http-webhooks.ts';
import { direct, sendJson } from '../../http/change.ts';
import { change, type Operation, read } from '../../http/operation.ts';
import { cutPage, LISTED } from '../../http/pages.ts';
import { notFound } from '../../http/problem.ts';
import { json, link, location, tagged } from '../../http/responses.ts';
import { parseId } from '../../http/validate.ts';
import type { Dependencies } from '../shared.ts';
import { createManageWebhooks } from './manage-webhooks.ts';
import { createWebhookAccess, oneWebhook, webhookOperation } from './webhook-access.ts';
import { toDelivery, toDeliveryDetails } from './webhook-records.ts';

const path = `${oneWebhook}/deliveries`;
const one = `${path}/:delivery_id`;

export function deliveryOperations(deps: Dependencies): Operation[] {
  const { deliveries } = deps;
  const manage = createManageWebhooks(deps);
  const { webhookOf, requireActive, toBeSent } = createWebhookAccess(deps);

  const list = read({
    ...webhookOperation,
    path,
    operationId: 'listWebhookDeliveries',
    summary: 'List deliveries',
    description: 'Newest first, each with its attempts, in pages of 100 unless `limit` is given.',
    query: deliveryQuery,
    responses: tagged(json(z.array(delivery), 'Deliveries', { headers: link })),
    async handle(ctx, given) {
      const query = { limit: LISTED, ...given };
      const { limit, cursor: before, status } = query;
      const { _id: webhook } = await webhookOf(ctx);
      const found = await deliveries.list(webhook, { limit: limit + 1, before, status });
      const page = cutPage(ctx, found, query, ({ _id }) => _id);
      sendJson(ctx, page.map(toDelivery));
    },
  });

  const get = read({
    ...webhookOperation,
    path: one,
    operationId: 'getWebhookDelivery',
    summary: 'Get a delivery',
    description: 'With the body of its requests.',
    responses: tagged(json(deliveryDetails, 'The delivery')),
    async handle(ctx) {
      const id = parseId(ctx.params.delivery_id);
      const found = await deliveries.find((await webhookOf(ctx))._id, id);
      if (!found) throw notFound();
      sendJson(ctx, toDeliveryDetails(found));
    },
  });

  const redeliver = change({
    ...webhookOperation,
    method: 'post',
    path: `${one}/redeliver`,
    operationId: 'redeliverWebhookEvent',
    summary: 'Send a delivery again',
    description:
      'Sends the same event with the same `webhook-id` immediately, whatever its status. If it fails, it is retried like a new one.',
    responses: { 202: json(deliveryId, 'Queued', { headers: location }) },
    problems: ['webhook_disabled'],
    prepare(ctx) {
      const id = parseId(ctx.params.delivery_id);
      return direct({
        async intend() {
          await requireActive(ctx);
          return randomUUID();
        },
        async apply(request) {
          const webhook = parseId(ctx.params.webhook_id);
          if (!(await manage.sendAgain(webhook, id, request))) throw notFound();
          return toBeSent(webhook, id);
        },
      });
    },
  });

  return [list, get, redeliver];
}
