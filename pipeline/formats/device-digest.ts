/**
 * What the suppression list knows of a device: the SHA-256 digest of its canonical identifier, 32 lower-case hex digits without hyphens.
 * It is also what deletion lists of others carry.
 */
import { createHash } from 'node:crypto';
import { IDENTIFIER_BYTES } from './identifier.ts';

export const DIGEST_BYTES = 32;

/** Of devices that lie one after the other, 16 bytes each: their digests, 32 bytes each. */
export function digestsOf(devices: Uint8Array): Uint8Array {
  const count = devices.length / IDENTIFIER_BYTES;
  const digests = new Uint8Array(count * DIGEST_BYTES);
  const text = Buffer.from(devices.buffer, devices.byteOffset, devices.byteLength).toString('hex');
  for (let n = 0; n < count; n++) {
    const identifier = text.slice(2 * n * IDENTIFIER_BYTES, 2 * (n + 1) * IDENTIFIER_BYTES);
    digests.set(createHash('sha256').update(identifier).digest(), n * DIGEST_BYTES);
  }
  return digests;
}
