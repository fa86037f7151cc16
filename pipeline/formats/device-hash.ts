/**
 * A keyed hash of a device, so that colliding identifiers cannot be chosen without the key. It is MULTILINEAR-HM of Lemire and Kaser
 * ("Strongly universal string hashing is fast") over the eight halves of the words: two different identifiers collide for at most one
 * key in 2^17, so of N identifiers chosen without the key at most N / 2^17 are expected to share the hash of a given one. A cryptographic
 * hash (SipHash) takes three times as long, and would add something only if a partner could learn hashes; nothing shows them.
 */
import { randomFillSync } from 'node:crypto';

/** Hashes four words at `at` to a signed 32-bit number; an unsigned one would take nearly twice as long. */
export type DeviceHash = (words: Uint32Array, at: number) => number;

const KEY_WORDS = 9;
export const KEY_BYTES = KEY_WORDS * Uint32Array.BYTES_PER_ELEMENT;

export function createDeviceHash(key: Uint8Array): DeviceHash {
  if (key.length !== KEY_BYTES) throw new RangeError(`a key of ${key.length} bytes, not ${KEY_BYTES}`);
  const bytes = Buffer.from(key);
  const [k0, k1, k2, k3, k4, k5, k6, k7, k8] = Array.from({ length: KEY_WORDS }, (_, n) =>
    bytes.readInt32LE(n * Int32Array.BYTES_PER_ELEMENT),
  ) as [number, number, number, number, number, number, number, number, number];
  // Unrolled: a loop over arrays is slower.
  return (words, at) => {
    const a = words[at]!;
    const b = words[at + 1]!;
    const c = words[at + 2]!;
    const d = words[at + 3]!;
    const sum =
      (k8 +
        Math.imul((a & 0xffff) + k0, (a >>> 16) + k1) +
        Math.imul((b & 0xffff) + k2, (b >>> 16) + k3) +
        Math.imul((c & 0xffff) + k4, (c >>> 16) + k5) +
        Math.imul((d & 0xffff) + k6, (d >>> 16) + k7)) |
      0;
    // A bijective finalizer, so it adds no collisions. Sums of similar identifiers form patterns; mixed, they fill pages evenly.
    const mixed = Math.imul(sum ^ (sum >>> 16), 0x85ebca6b);
    const more = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
    return more ^ (more >>> 16);
  };
}

export const newKey = (): Uint8Array => randomFillSync(new Uint8Array(KEY_BYTES));

/** With a random key per process: for tables in memory. */
export const hashInMemory = createDeviceHash(newKey());
