/** The requests that are sent to webhooks, for the OpenAPI document. */
import type { RouteConfig } from '@asteasolutions/zod-to-openapi';
import { z } from 'zod';
import { type WebhookEventType, webhookEvents } from '../../../schemas/http-webhooks.ts';
import { bodyConfig } from '../../describe/openapi.ts';
import { doneLoad } from '../audiences/load-records.ts';
import { deletionLog, doneLog } from '../imports/import-records.ts';

const headers = z.object({
  'webhook-id': z
    .string()
    .meta({ description: 'Identifies the event, the same for every attempt: ignore duplicates.' }),
  'webhook-timestamp': z.string().meta({ description: 'Unix time of this attempt, in seconds.' }),
  'webhook-signature': z.string().meta({
    description: '`v1,` and the signature in base64; after a rotation two of them, separated by a space.',
  }),
});

const sent: Record<WebhookEventType, { summary: string; at: string; data: object }> = {
  'import.ended': { summary: 'An import has ended', at: doneLog.updated_at, data: doneLog },
  'deletion.ended': { summary: 'A deletion has ended', at: deletionLog.updated_at, data: deletionLog },
  'load.ended': {
    summary: 'A load of an audience has ended',
    at: doneLoad.updated_at,
    data: { audience_id: 42, ...doneLoad },
  },
  'webhook.test': { summary: 'A test event', at: doneLog.updated_at, data: { webhook_id: 3 } },
};

export const sentEvents = (Object.keys(webhookEvents) as WebhookEventType[]).map((type): RouteConfig => {
  const { summary, at, data } = sent[type];
  const examples = { [type]: { summary: type, value: { type, timestamp: at, data } } };
  return {
    tags: ['Webhooks'],
    security: [],
    method: 'post',
    path: type,
    operationId: type.replace(/\.(\w)/, (_, letter: string) => letter.toUpperCase()),
    summary,
    description: 'Sent to your webhooks. The introduction shows how to verify the signature.',
    request: { headers, body: bodyConfig({ schema: webhookEvents[type], examples }) },
    responses: {
      '2XX': {
        description: 'Received. Any other response is retried for 24 hours; redirects are not followed.',
      },
      410: { description: 'Unsubscribe: the webhook is disabled.' },
    },
  };
});
