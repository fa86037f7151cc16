/** Webhooks and deliveries as partners see them. */
import type { DeliveryDocument, WebhookDocument } from '../../../schemas/webhook-documents.ts';

export const toWebhook = ({ _id, isActive, isGone, secrets, ...webhook }: WebhookDocument) => ({
  webhook_id: _id,
  url: webhook.url,
  description: webhook.description,
  active: isActive,
  gone: isGone === true,
  secrets: secrets
    .filter(({ expiresAt }) => expiresAt === undefined || expiresAt.getTime() > Date.now())
    .map(({ createdAt, expiresAt = null }) => ({ created_at: createdAt, expires_at: expiresAt })),
  created_at: webhook.createdAt,
  updated_at: webhook.updatedAt,
});

export const toDelivery = (delivery: Omit<DeliveryDocument, 'body'>) => ({
  delivery_id: delivery._id,
  type: delivery.type,
  job_id: delivery.job,
  status: delivery.status,
  tries: delivery.tries,
  attempts: delivery.attempts.map(({ at, code, error, ms }) => ({ at, code, error, duration_ms: ms })),
  next_attempt_at: delivery.status === 'pending' ? delivery.dueAt : null,
  created_at: delivery.createdAt,
  ended_at: delivery.endedAt ?? null,
});

export const toDeliveryDetails = (delivery: DeliveryDocument) => ({
  ...toDelivery(delivery),
  body: delivery.body,
});
