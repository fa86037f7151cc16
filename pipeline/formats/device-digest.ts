/**
 * The digest of a device in suppression lists: SHA-256 of its canonical identifier, 32 lower-case hex digits without hyphens. Third-party
 * deletion lists use the same.
 */
import { createDigestKernel, DIGEST_BYTES, KERNEL_IDENTIFIERS, LANES } from './digest-kernel.ts';
import { IDENTIFIER_BYTES } from './identifier.ts';

export { DIGEST_BYTES } from './digest-kernel.ts';
export const DIGEST_WORDS = DIGEST_BYTES / 4;

/** Assembled on first use: most processes never need it. */
let kernel: ReturnType<typeof createDigestKernel> | undefined;

/**
 * Digests concatenated devices (16 bytes each) a chunk at a time. A chunk's digests are in the kernel's memory, so in the CPU's caches, and
 * are overwritten by the next chunk. `first` is the number of the chunk's first device.
 */
export function eachDigests(
  devices: Uint8Array,
  onChunk: (digests: Uint32Array, count: number, first: number) => void,
): void {
  kernel ??= createDigestKernel();
  const count = devices.length / IDENTIFIER_BYTES;
  for (let first = 0; first < count; first += KERNEL_IDENTIFIERS) {
    const chunk = Math.min(KERNEL_IDENTIFIERS, count - first);
    kernel.identifiers.set(devices.subarray(first * IDENTIFIER_BYTES, (first + chunk) * IDENTIFIER_BYTES));
    kernel.digestGroups(Math.ceil(chunk / LANES));
    onChunk(kernel.digests, chunk, first);
  }
}

/** Digests (32 bytes each) of concatenated devices. `into` must have room for all of them. */
export function digestsOf(
  devices: Uint8Array,
  into = new Uint8Array((devices.length / IDENTIFIER_BYTES) * DIGEST_BYTES),
): Uint8Array {
  eachDigests(devices, ({ buffer, byteOffset }, count, first) =>
    into.set(new Uint8Array(buffer, byteOffset, count * DIGEST_BYTES), first * DIGEST_BYTES),
  );
  return into;
}
