/** Partners and their keys in MongoDB. */
import type { Binary } from 'mongodb';

export interface PartnerDocument {
  _id: string;
  name: string;
  /** Ends in `/`, is never reused, and no partner's prefix starts with another's. */
  prefix: string;
  storageUser: string;
  /** During a rotation of storage keys: the previous user, whose keys still work, and the next one. */
  oldStorageUser?: string;
  nextStorageUser?: string;
  /** Overrides of the configured quotas. */
  quotas?: PartnerQuotas;
  /** Absent unless the partner is suspended. */
  suspendedAt?: Date;
  createdAt: Date;
}

/** Absent: as configured. 0 bytes or rows per day: no limit. */
export interface PartnerQuotas {
  pendingJobs?: number;
  bytesPerDay?: number;
  rowsPerDay?: number;
}

export const keyScopes = ['read', 'import', 'audience', 'webhook', 'privacy'] as const;
export type KeyScope = (typeof keyScopes)[number];

export interface ApiKeyDocument {
  /** The public part of the key. */
  _id: string;
  partner: string;
  /** HMAC-SHA-256 of the whole key under a key from the configuration. */
  hash: Binary;
  /** The secret that this key was derived from. */
  secretId: string;
  label?: string;
  /** Absent: all of them. */
  scopes?: KeyScope[];
  createdAt: Date;
  /** Absent: it does not expire. */
  expiresAt?: Date;
  revokedAt: Date | null;
  /** The key that replaces it. */
  rotatedTo?: string;
}

/** A key that signs user tokens of a partner's customers. */
export interface TokenKeyDocument {
  /** The `kid` of its tokens. */
  _id: string;
  partner: string;
  label?: string;
  /** The secret; encrypted. */
  sealed: Binary;
  createdAt: Date;
  /** The key that replaces it. */
  rotatedTo?: string;
  /** When its tokens became invalid. */
  retiredAt: Date | null;
}
