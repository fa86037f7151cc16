/**
 * Encryption of secrets at rest: AES-256-GCM. Every purpose has a key derived from the configured secret, so that a leaked derived
 * key reveals nothing about another. A sealed value carries the id of its secret, and can be opened only in its context.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { Binary } from 'mongodb';
import type { Config } from '../../schemas/config.ts';

/** Version 1 had neither secret id nor context; it can still be opened. */
const VERSION = 2;
const ID = 4;
const IV = 12;
const TAG = 16;

/** Deriving a key takes far longer than using it: cached per secret. */
const derived = new WeakMap<Uint8Array, Map<string, Buffer>>();

export function deriveKey(secret: Uint8Array, purpose: string): Buffer {
  const keys = derived.get(secret) ?? new Map<string, Buffer>();
  derived.set(secret, keys);
  const key = keys.get(purpose) ?? Buffer.from(hkdfSync('sha256', secret, '', `headrace ${purpose}`, 32));
  keys.set(purpose, key);
  return key;
}

/** The current secret, then old ones, which only decrypt. */
export const secretsOf = (config: Pick<Config, 'secret' | 'secretOld'>): readonly Uint8Array[] => [
  config.secret,
  ...config.secretOld,
];

/** Identifies a secret without revealing anything about it. */
export const secretId = (secret: Uint8Array): string => deriveKey(secret, 'secret id').toString('hex', 0, ID);

const sealingKey = (secret: Uint8Array) => deriveKey(secret, 'sealed secrets');

/** Layout: version, secret id, iv, tag, ciphertext. */
export function seal(secret: Uint8Array, plaintext: string, context: string): Buffer {
  const iv = randomBytes(IV);
  const cipher = createCipheriv('aes-256-gcm', sealingKey(secret), iv).setAAD(Buffer.from(context));
  const body = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final()]);
  return Buffer.concat([
    Buffer.of(VERSION),
    Buffer.from(secretId(secret), 'hex'),
    iv,
    cipher.getAuthTag(),
    body,
  ]);
}

export class UnsealError extends Error {
  readonly code = 'cannot_unseal';
  readonly retriable = false;
}

type Sealed = Uint8Array | Binary;
const bytesOf = (sealed: Sealed) => Buffer.from(sealed instanceof Uint8Array ? sealed : sealed.value());

/** Id of the secret that sealed the value; undefined in version 1. */
export function sealedWith(sealed: Sealed): string | undefined {
  const bytes = bytesOf(sealed);
  return bytes[0] === VERSION ? bytes.toString('hex', 1, 1 + ID) : undefined;
}

export function unseal(secrets: readonly Uint8Array[], sealed: Sealed, context: string): string {
  const bytes = bytesOf(sealed);
  const isFirstVersion = bytes[0] === 1;
  const head = isFirstVersion ? 1 : 1 + ID;
  if (bytes.length < head + IV + TAG || (!isFirstVersion && bytes[0] !== VERSION))
    throw new UnsealError('not a sealed secret');
  const id = sealedWith(sealed);
  const able = isFirstVersion ? secrets : secrets.filter((secret) => secretId(secret) === id);
  for (const secret of able) {
    const iv = bytes.subarray(head, head + IV);
    const decipher = createDecipheriv('aes-256-gcm', sealingKey(secret), iv, { authTagLength: TAG });
    if (!isFirstVersion) decipher.setAAD(Buffer.from(context));
    decipher.setAuthTag(bytes.subarray(head + IV, head + IV + TAG));
    try {
      const body = decipher.update(bytes.subarray(head + IV + TAG));
      return Buffer.concat([body, decipher.final()]).toString('utf8');
    } catch {
      // Try the next secret.
    }
  }
  throw new UnsealError('the value was sealed with another key or for another job, or was altered');
}
