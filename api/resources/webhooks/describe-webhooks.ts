/** Webhooks: how they are managed, and what is sent to them. */
import type { OpenAPIRegistry } from '@asteasolutions/zod-to-openapi';
import { z } from 'zod';
import { deliveryQuery } from '../../../schemas/http-queries.ts';
import {
  changeWebhook,
  createdWebhook,
  createWebhook,
  delivery,
  deliveryDetails,
  deliveryId,
  webhook,
  webhookEvents,
} from '../../../schemas/http-webhooks.ts';
import { webhookRequests, webhooksSent } from '../../describe/examples.ts';
import {
  body,
  changeProblems,
  idempotencyKey,
  ifNoneMatch,
  json,
  link,
  location,
  needs,
  nothing,
  pathId,
  readProblems,
  tagged,
  writeProblems,
} from '../../http/responses.ts';

const path = '/v1/webhooks';
const one = `${path}/{webhook_id}`;
const deliveryPath = `${one}/deliveries/{delivery_id}`;
const shared = { tags: ['Webhooks'], security: needs('read', 'webhook') };
const idOf = pathId('webhook_id');
const ids = z.object({ ...idOf.shape, ...pathId('delivery_id').shape });

export function describeWebhooks(registry: OpenAPIRegistry): void {
  registry.registerPath({
    ...shared,
    method: 'get',
    path,
    operationId: 'listWebhooks',
    summary: 'List webhooks',
    description: 'All of them, oldest first.',
    request: { headers: ifNoneMatch },
    responses: { ...tagged(json(z.array(webhook), 'Webhooks')), ...readProblems() },
  });
  registry.registerPath({
    ...shared,
    method: 'post',
    path,
    operationId: 'createWebhook',
    summary: 'Register a webhook',
    description:
      'It is told of every job that ends after this response. The `secret` is in no other response: a lost one is replaced by another.',
    request: { headers: idempotencyKey, ...body(createWebhook, { examples: webhookRequests }) },
    responses: {
      201: json(createdWebhook, 'The webhook, with its secret', { headers: location }),
      ...writeProblems('webhook_exists', 'too_many_webhooks'),
    },
  });
  registry.registerPath({
    ...shared,
    method: 'get',
    path: one,
    operationId: 'getWebhook',
    summary: 'Get a webhook',
    description: 'Without its secrets.',
    request: { headers: ifNoneMatch, params: idOf },
    responses: { ...tagged(json(webhook, 'The webhook')), ...readProblems('not_found') },
  });
  registry.registerPath({
    ...shared,
    method: 'patch',
    path: one,
    operationId: 'changeWebhook',
    summary: 'Change a webhook',
    description:
      'Changes the fields that are given. One that is enabled again is told of the jobs that end from then on; pending deliveries go to the new URL.',
    request: { headers: idempotencyKey, params: idOf, ...body(changeWebhook) },
    responses: { 204: nothing('Changed'), ...writeProblems('not_found', 'webhook_exists') },
  });
  registry.registerPath({
    ...shared,
    method: 'delete',
    path: one,
    operationId: 'deleteWebhook',
    summary: 'Delete a webhook',
    description: 'With the log of its deliveries. What is pending is not sent any more.',
    request: { headers: idempotencyKey, params: idOf },
    responses: { 204: nothing('Deleted'), ...changeProblems('not_found') },
  });
  registry.registerPath({
    ...shared,
    method: 'post',
    path: `${one}/secret`,
    operationId: 'rotateWebhookSecret',
    summary: 'Replace the secret of a webhook',
    description:
      'The response has the new secret. For 24 hours deliveries are signed with both, so that the receiver can be changed meanwhile.',
    request: { headers: idempotencyKey, params: idOf },
    responses: {
      200: json(createdWebhook, 'The webhook, with its new secret'),
      ...changeProblems('not_found'),
    },
  });
  registry.registerPath({
    ...shared,
    method: 'post',
    path: `${one}/test`,
    operationId: 'testWebhook',
    summary: 'Send a test event',
    description:
      'Sends an event of type `webhook.test`, at most ten per minute. The delivery shows what the receiver answered.',
    request: { headers: idempotencyKey, params: idOf },
    responses: {
      202: json(deliveryId, 'To be sent', { headers: location }),
      ...changeProblems('not_found', 'webhook_disabled'),
    },
  });
  describeDeliveries(registry);
  describeEvents(registry);
}

function describeDeliveries(registry: OpenAPIRegistry): void {
  registry.registerPath({
    ...shared,
    method: 'get',
    path: `${one}/deliveries`,
    operationId: 'listWebhookDeliveries',
    summary: 'List deliveries',
    description: 'Newest first, each with its attempts, in pages of 100 unless `limit` is given.',
    request: { headers: ifNoneMatch, params: idOf, query: deliveryQuery },
    responses: {
      ...tagged(json(z.array(delivery), 'Deliveries', { headers: link })),
      ...readProblems('not_found'),
    },
  });
  registry.registerPath({
    ...shared,
    method: 'get',
    path: deliveryPath,
    operationId: 'getWebhookDelivery',
    summary: 'Get a delivery',
    description: 'With what is sent.',
    request: { headers: ifNoneMatch, params: ids },
    responses: { ...tagged(json(deliveryDetails, 'The delivery')), ...readProblems('not_found') },
  });
  registry.registerPath({
    ...shared,
    method: 'post',
    path: `${deliveryPath}/redeliver`,
    operationId: 'redeliverWebhookEvent',
    summary: 'Send a delivery again',
    description:
      'The same event with the same `webhook-id`, at once, whatever became of it before; if it fails, it is tried again as a new one is.',
    request: { headers: idempotencyKey, params: ids },
    responses: {
      202: json(deliveryId, 'To be sent', { headers: location }),
      ...changeProblems('not_found', 'webhook_disabled'),
    },
  });
}

const headers = z.object({
  'webhook-id': z.string().meta({ description: 'The same at every attempt: ignore one that you know.' }),
  'webhook-timestamp': z.string().meta({ description: 'When this attempt was made, in seconds since 1970.' }),
  'webhook-signature': z.string().meta({
    description: '`v1,` and the signature in base64; two of them, separated by a space, after a rotation.',
  }),
});

const summaries: Record<keyof typeof webhookEvents, string> = {
  'import.ended': 'An import has ended',
  'deletion.ended': 'A deletion has ended',
  'load.ended': 'A load of an audience has ended',
  'webhook.test': 'A test event',
};

function describeEvents(registry: OpenAPIRegistry): void {
  for (const type of Object.keys(webhookEvents) as (keyof typeof webhookEvents)[])
    registry.registerWebhook({
      tags: ['Webhooks'],
      security: [],
      method: 'post',
      path: type,
      operationId: type.replace(/\.(\w)/, (_, letter: string) => letter.toUpperCase()),
      summary: summaries[type],
      description: 'Sent to your webhooks. The introduction shows how to verify the signature.',
      request: { headers, ...body(webhookEvents[type], { examples: { [type]: webhooksSent[type] } }) },
      responses: {
        '2XX': {
          description: 'Received. Anything else is tried again for 24 hours; redirects are not followed.',
        },
        410: { description: 'The receiver wants no more: the webhook is disabled.' },
      },
    });
}
