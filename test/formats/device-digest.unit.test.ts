import { createHash, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DIGEST_BYTES, digestsOf } from '../../pipeline/formats/device-digest.ts';
import { IDENTIFIER_BYTES } from '../../pipeline/formats/identifier.ts';

const expected = (devices: Uint8Array): Buffer => {
  const digests: Buffer[] = [];
  for (let at = 0; at < devices.length; at += IDENTIFIER_BYTES) {
    const digits = Buffer.from(devices.subarray(at, at + IDENTIFIER_BYTES)).toString('hex');
    digests.push(createHash('sha256').update(digits).digest());
  }
  return Buffer.concat(digests);
};
const digested = (devices: Uint8Array) => Buffer.from(digestsOf(devices));

test('the digest of the agency’s example', () => {
  const device = Buffer.from('8f9bb0d55b0c4e2b9c1d2f6c1f0e7a11', 'hex');
  expect(digested(device).toString('base64')).toBe('TZryBhELF2FBW1Qva+IfDe3qsMDqIQ0HYSYjxcuOlhM=');
});

test('digests equal those of node:crypto for any identifiers and any number of them', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ minLength: 16, maxLength: 16 }), { maxLength: 9 }), (devices) => {
      const all = Buffer.concat(devices);
      expect(digested(all)).toEqual(expected(all));
    }),
  );
  for (const count of [0, 1, 3, 4, 1023, 1024, 1025, 5000]) {
    // At any alignment in memory.
    const devices = randomBytes(3 + count * IDENTIFIER_BYTES).subarray(3);
    expect(digested(devices).equals(expected(devices))).toBe(true);
  }
});

test('every byte value in every place', () => {
  const devices = Buffer.alloc(256 * IDENTIFIER_BYTES);
  for (let at = 0; at < devices.length; at++) devices[at] = (at >> 4) + at * 17;
  expect(digested(devices).equals(expected(devices))).toBe(true);
});

test('digests go where the caller wants them, and nothing else changes', () => {
  const devices = randomBytes(5 * IDENTIFIER_BYTES);
  const into = new Uint8Array(7 * DIGEST_BYTES).fill(9);
  expect(digestsOf(devices, into)).toBe(into);
  expect(Buffer.from(into.subarray(0, 5 * DIGEST_BYTES))).toEqual(expected(devices));
  expect(into.subarray(5 * DIGEST_BYTES)).toEqual(new Uint8Array(2 * DIGEST_BYTES).fill(9));
});
