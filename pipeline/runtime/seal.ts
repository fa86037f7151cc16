/**
 * Encryption of secrets at rest: AES-256-GCM. Every purpose has a key derived from the configured secret, so that a leaked derived
 * key reveals nothing about another. A sealed value carries the id of its secret, and can be opened only in its context.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { Binary } from 'mongodb';
import type { Config } from '../../schemas/config.ts';

const VERSION = 2;
const ID = 4;
const HEAD = 1 + ID;
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

/** Id of the secret that sealed the value. */
export const sealedWith = (sealed: Sealed): string => bytesOf(sealed).toString('hex', 1, HEAD);

export function unseal(secrets: readonly Uint8Array[], sealed: Sealed, context: string): string {
  const bytes = bytesOf(sealed);
  if (bytes.length < HEAD + IV + TAG || bytes[0] !== VERSION) throw new UnsealError('not a sealed secret');
  const id = sealedWith(sealed);
  for (const secret of secrets.filter((each) => secretId(each) === id)) {
    const iv = bytes.subarray(HEAD, HEAD + IV);
    const decipher = createDecipheriv('aes-256-gcm', sealingKey(secret), iv, { authTagLength: TAG });
    decipher.setAAD(Buffer.from(context)).setAuthTag(bytes.subarray(HEAD + IV, HEAD + IV + TAG));
    try {
      const body = decipher.update(bytes.subarray(HEAD + IV + TAG));
      return Buffer.concat([body, decipher.final()]).toString('utf8');
    } catch {
      // Try the next secret.
    }
  }
  throw new UnsealError('the value was sealed with another key or for another job, or was altered');
}

/** The value sealed with the current secret, the first; undefined if it is already. */
export function reseal(secrets: readonly Uint8Array[], sealed: Sealed, context: string): Buffer | undefined {
  const [current] = secrets as [Uint8Array];
  if (sealedWith(sealed) === secretId(current)) return undefined;
  return seal(current, unseal(secrets, sealed, context), context);
}
