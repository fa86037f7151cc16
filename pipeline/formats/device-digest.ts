/**
 * The digest of a device in suppression lists: SHA-256 of its canonical identifier, 32 lower-case hex digits without hyphens. Third-party
 * deletion lists use the same.
 */
import { createDigestKernel, DIGEST_BYTES, KERNEL_IDENTIFIERS, LANES } from './digest-kernel.ts';
import { IDENTIFIER_BYTES } from './identifier.ts';

export { DIGEST_BYTES } from './digest-kernel.ts';

/** Assembled on first use: most processes never need it. */
let kernel: ReturnType<typeof createDigestKernel> | undefined;

/** Digests (32 bytes each) of concatenated devices (16 bytes each). `into` must have room for all of them. */
export function digestsOf(
  devices: Uint8Array,
  into = new Uint8Array((devices.length / IDENTIFIER_BYTES) * DIGEST_BYTES),
): Uint8Array {
  kernel ??= createDigestKernel();
  const count = devices.length / IDENTIFIER_BYTES;
  for (let from = 0; from < count; from += KERNEL_IDENTIFIERS) {
    const chunk = Math.min(KERNEL_IDENTIFIERS, count - from);
    kernel.identifiers.set(devices.subarray(from * IDENTIFIER_BYTES, (from + chunk) * IDENTIFIER_BYTES));
    kernel.digestGroups(Math.ceil(chunk / LANES));
    into.set(kernel.digests.subarray(0, chunk * DIGEST_BYTES), from * DIGEST_BYTES);
  }
  return into;
}
