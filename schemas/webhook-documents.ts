/** Webhooks and their deliveries (an outbox) in MongoDB. */
import type { Binary } from 'mongodb';

export interface WebhookSecret {
  /** Identifies the secret without revealing anything about it. */
  id: string;
  /** Encrypted. */
  sealed: Binary;
  createdAt: Date;
  /** Former secrets: deliveries are also signed with it until then. */
  expiresAt?: Date;
}

export interface WebhookDocument {
  _id: number;
  partner: string;
  /** Unique per partner, below the limit of webhooks. */
  place: number;
  url: string;
  description: string | null;
  isActive: boolean;
  /** Its receiver answered 410. */
  isGone?: true;
  /** Number of the first job end that it gets an event for. */
  since: number;
  /** Current secret first. */
  secrets: WebhookSecret[];
  createdAt: Date;
  updatedAt: Date;
}

export const deliveryStatuses = ['pending', 'delivered', 'failed'] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

export interface DeliveryAttempt {
  at: Date;
  /** Status of the response; null without one. */
  code: number | null;
  error: string | null;
  ms: number;
}

export interface DeliveryDocument {
  _id: number;
  webhook: number;
  /** The job that ended; null for a test. */
  job: number | null;
  type: string;
  /** The same bytes at every attempt. */
  body: string;
  status: DeliveryStatus;
  /** When it is due; during an attempt, the end of the lease. */
  dueAt: Date;
  /** Holder of the lease. */
  sender?: string;
  /** The last request to redeliver it. */
  resentBy?: string;
  /** It fails if it is not delivered by then. */
  giveUpAt: Date;
  tries: number;
  /** The last attempts. */
  attempts: DeliveryAttempt[];
  createdAt: Date;
  endedAt?: Date;
  /** TTL. */
  expiresAt: Date;
}
