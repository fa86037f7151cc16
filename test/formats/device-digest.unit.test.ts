import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { DIGEST_BYTES, digestsOf } from '../../pipeline/formats/device-digest.ts';

const digestAt = (digests: Uint8Array, n: number) =>
  Buffer.from(digests.subarray(n * DIGEST_BYTES, (n + 1) * DIGEST_BYTES));

describe('digestsOf', () => {
  it('hashes the 32 lower-case hex digits, as the Delete Act’s platform does', () => {
    const device = Buffer.from('8f9bb0d55b0c4e2b9c1d2f6c1f0e7a11', 'hex');
    expect(digestAt(digestsOf(device), 0).toString('base64')).toBe(
      'TZryBhELF2FBW1Qva+IfDe3qsMDqIQ0HYSYjxcuOlhM=',
    );
  });

  it('hashes each of many devices, wherever they lie in memory', () => {
    const count = 1_000;
    const memory = randomBytes(3 + 16 * count);
    const devices = memory.subarray(3);
    const digests = digestsOf(devices);
    expect(digests.length).toBe(DIGEST_BYTES * count);
    for (let n = 0; n < count; n++) {
      const identifier = devices.subarray(16 * n, 16 * (n + 1)).toString('hex');
      expect(digestAt(digests, n)).toEqual(createHash('sha256').update(identifier).digest());
    }
  });
});
