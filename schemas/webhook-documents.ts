/** Webhooks and what is delivered to them, as they are stored. */
import type { Binary } from 'mongodb';

export interface WebhookSecret {
  /** Says which one it is, and nothing else about it. */
  id: string;
  /** Encrypted. */
  sealed: Binary;
  createdAt: Date;
  /** Of a former secret: until then, deliveries are signed with it too. */
  expiresAt?: Date;
}

export interface WebhookDocument {
  _id: number;
  partner: string;
  /** Among those that the partner may have; unique. */
  place: number;
  url: string;
  description: string | null;
  isActive: boolean;
  /** Its receiver answered 410. */
  isGone?: true;
  /** The number of the first end that it gets an event for. */
  since: number;
  /** The current one first. */
  secrets: WebhookSecret[];
  createdAt: Date;
  updatedAt: Date;
}

export const deliveryStatuses = ['pending', 'delivered', 'failed'] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

export interface DeliveryAttempt {
  at: Date;
  /** What the receiver answered; null if it did not. */
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
  /** When it is due; while it is being sent, the end of the lease. */
  dueAt: Date;
  /** Who sends it. */
  sender?: string;
  /** The last request to send it again. */
  resentBy?: string;
  /** It is failed if it is not delivered until then. */
  giveUpAt: Date;
  tries: number;
  /** The last ones. */
  attempts: DeliveryAttempt[];
  createdAt: Date;
  endedAt?: Date;
  /** MongoDB removes it then. */
  expiresAt: Date;
}
