/** Webhooks over HTTP: requests, responses, and the events that are sent to receivers. */
import { z } from 'zod';
import { audienceLoad, count, created, described, id, importLog, time, updated } from './http-answers.ts';
import { notPlainText, plainText } from './paths.ts';
import { deliveryStatuses } from './webhook-documents.ts';

const notAUrl = 'must be an https URL of at most 2048 characters';
/** Normalised like URL.href: non-ASCII characters are encoded, so that a terminal shows the real URL. */
const webhookUrl = z
  .url({ protocol: /^https?$/, normalize: true, error: notAUrl })
  .max(2_048, notAUrl)
  .meta({
    description:
      'Where events are posted to: an https URL without user, password and fragment, whose host has public addresses only. Stored in its normal form (`URL.href`).',
    example: 'https://hooks.acme.example/headrace',
  });
const description = z
  .string('must be a string')
  .max(256, 'must have at most 256 characters')
  .regex(plainText, notPlainText)
  .nullable()
  .meta({ description: 'A note for yourself.', example: 'production' });
const active = z.boolean('must be true or false').meta({
  description:
    'Whether events are sent. While it is false, none are recorded for it, and pending ones wait until their time is over.',
  example: true,
});

export const createWebhook = z
  .strictObject({ url: webhookUrl, description: description.default(null) })
  .meta({ id: 'CreateWebhook' });
export const changeWebhook = z
  .strictObject({
    url: webhookUrl.optional(),
    description: description.optional(),
    active: active.optional(),
  })
  .refine(
    (body) => Object.values(body).some((value) => value !== undefined),
    'must have url, description or active',
  )
  .meta({ id: 'ChangeWebhook', minProperties: 1 });

const secret = described(
  z.string().regex(/^whsec_[A-Za-z0-9+/]{43}=$/),
  'The secret that signs deliveries, in the form of Standard Webhooks. Shown only in this response.',
  'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDpOcDRf3Nn1A=',
);
const webhookFields = {
  webhook_id: described(id, 'The id of the webhook.', 3),
  url: webhookUrl,
  description,
  active,
  gone: described(
    z.boolean(),
    'Whether it was disabled because its receiver answered 410. Enabling it again resets this.',
    false,
  ),
  secrets: described(
    z.array(
      z.strictObject({
        created_at: created,
        expires_at: described(time.nullable(), 'Until when it signs; null for the current one.'),
      }),
    ),
    'The secrets that sign deliveries, the current one first.',
  ),
  created_at: created,
  updated_at: updated,
};
export const webhook = z.strictObject(webhookFields).meta({ id: 'Webhook' });
export const createdWebhook = z.strictObject({ ...webhookFields, secret }).meta({ id: 'CreatedWebhook' });

const code = described(z.int().nullable(), 'The status that the receiver answered; null if it did not.', 503);
const deliveryFields = {
  delivery_id: described(id, 'The id of the delivery. `webhook-id` is `msg_` and this number.', 812),
  type: described(z.string(), 'The type of the event.', 'import.ended'),
  job_id: described(
    id.nullable(),
    'The job that has ended: its import_log_id or load_id. Null for a test.',
    42,
  ),
  status: described(
    z.enum(deliveryStatuses),
    'pending: not delivered yet; delivered: the receiver answered 2xx; failed: it did not in time, or answered 410.',
    'delivered',
  ),
  tries: described(count, 'How often it was sent.', 2),
  attempts: described(
    z.array(
      z.strictObject({
        at: time,
        code,
        error: described(z.string().nullable(), 'Why it failed; null if it was delivered.', 'answered 503'),
        duration_ms: described(count, 'How long the attempt took.', 87),
      }),
    ),
    'The attempts, oldest first; the last 50.',
  ),
  next_attempt_at: described(time.nullable(), 'When it is sent again; null if it is not.'),
  created_at: created,
  ended_at: described(time.nullable(), 'When it was delivered or failed; null while it is pending.'),
};
export const delivery = z.strictObject(deliveryFields).meta({ id: 'WebhookDelivery' });
export const deliveryDetails = z
  .strictObject({ ...deliveryFields, body: described(z.string(), 'What is sent, byte for byte.') })
  .meta({ id: 'WebhookDeliveryDetails' });
export const deliveryId = z
  .strictObject({ delivery_id: deliveryFields.delivery_id })
  .meta({ id: 'WebhookDeliveryId' });

const event = <Type extends string, Data extends z.ZodType>(type: Type, data: Data) =>
  z.strictObject({
    type: described(z.literal(type), 'What has happened.'),
    timestamp: described(time, 'When it has happened, in UTC.'),
    data,
  });
/** Bodies of deliveries, by type. */
export const webhookEvents = {
  'import.ended': event('import.ended', importLog).meta({ id: 'ImportEnded' }),
  'deletion.ended': event('deletion.ended', importLog).meta({ id: 'DeletionEnded' }),
  'load.ended': event(
    'load.ended',
    z.strictObject({
      audience_id: described(id, 'The audience that was loaded.', 42),
      ...audienceLoad.shape,
    }),
  ).meta({ id: 'LoadEnded' }),
  'webhook.test': event('webhook.test', z.strictObject({ webhook_id: webhookFields.webhook_id })).meta({
    id: 'WebhookTest',
  }),
};
export type WebhookEventType = keyof typeof webhookEvents;
