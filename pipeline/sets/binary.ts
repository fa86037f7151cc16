import type { Binary } from 'mongodb';

/** The driver's bytes as they are, without a copy. */
export const bytesOf = ({ buffer, position }: Binary): Uint8Array => buffer.subarray(0, position);
