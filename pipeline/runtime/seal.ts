/**
 * Secrets at rest: AES-256-GCM. Every purpose gets its own key from the one configured secret, so that a leak of one
 * derived key says nothing about another.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { Binary } from 'mongodb';

const VERSION = 1;
const IV = 12;
const TAG = 16;

/** Deriving takes far longer than using: each key is made once for a secret. */
const derived = new WeakMap<Uint8Array, Map<string, Buffer>>();

export function deriveKey(secret: Uint8Array, purpose: string): Buffer {
  const keys = derived.get(secret) ?? new Map<string, Buffer>();
  derived.set(secret, keys);
  const key = keys.get(purpose) ?? Buffer.from(hkdfSync('sha256', secret, '', `headrace ${purpose}`, 32));
  keys.set(purpose, key);
  return key;
}

/** version, iv, tag, ciphertext */
export function seal(secret: Uint8Array, plaintext: string): Buffer {
  const iv = randomBytes(IV);
  const cipher = createCipheriv('aes-256-gcm', deriveKey(secret, 'sealed secrets'), iv);
  const body = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final()]);
  return Buffer.concat([Buffer.of(VERSION), iv, cipher.getAuthTag(), body]);
}

export class UnsealError extends Error {
  readonly code = 'cannot_unseal';
  readonly retriable = false;
}

export function unseal(secret: Uint8Array, sealed: Uint8Array | Binary): string {
  const bytes = Buffer.from(sealed instanceof Uint8Array ? sealed : sealed.value());
  if (bytes.length < 1 + IV + TAG || bytes[0] !== VERSION) throw new UnsealError('not a sealed secret');
  const decipher = createDecipheriv(
    'aes-256-gcm',
    deriveKey(secret, 'sealed secrets'),
    bytes.subarray(1, 1 + IV),
    { authTagLength: TAG },
  );
  decipher.setAuthTag(bytes.subarray(1 + IV, 1 + IV + TAG));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(1 + IV + TAG)), decipher.final()]).toString('utf8');
  } catch (cause) {
    throw new UnsealError('the secret was sealed with another key, or was altered', { cause });
  }
}
