import type { Binary } from 'mongodb';

/** The driver's bytes as they are, without a copy. */
export function bytesOf(binary: Binary): Uint8Array {
  return binary.buffer.byteLength === binary.position
    ? binary.buffer
    : binary.buffer.subarray(0, binary.position);
}
