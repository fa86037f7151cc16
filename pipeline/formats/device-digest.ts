/**
 * What the suppression list knows of a device: the SHA-256 digest of its canonical identifier, 32 lower-case hex digits without hyphens.
 * It is also what deletion lists of others carry.
 */
import { createDigestKernel, DIGEST_BYTES, KERNEL_IDENTIFIERS, LANES } from './digest-kernel.ts';
import { IDENTIFIER_BYTES } from './identifier.ts';

export { DIGEST_BYTES } from './digest-kernel.ts';

/** Assembled on first use: most processes never need it. */
let kernel: ReturnType<typeof createDigestKernel> | undefined;

/** Of devices that lie one after the other, 16 bytes each: their digests, 32 bytes each. `into` has room for all of them. */
export function digestsOf(
  devices: Uint8Array,
  into = new Uint8Array((devices.length / IDENTIFIER_BYTES) * DIGEST_BYTES),
): Uint8Array {
  kernel ??= createDigestKernel();
  const count = devices.length / IDENTIFIER_BYTES;
  for (let from = 0; from < count; from += KERNEL_IDENTIFIERS) {
    const some = Math.min(KERNEL_IDENTIFIERS, count - from);
    kernel.identifiers.set(devices.subarray(from * IDENTIFIER_BYTES, (from + some) * IDENTIFIER_BYTES));
    kernel.digestGroups(Math.ceil(some / LANES));
    into.set(kernel.digests.subarray(0, some * DIGEST_BYTES), from * DIGEST_BYTES);
  }
  return into;
}
