/** Identifiers as tests need them: as text, and by slot. */
import { IDENTIFIER_BYTES, slotOfHash } from '../../pipeline/formats/identifier.ts';
import { DEFAULT_SLOTS } from '../../schemas/topics.ts';
import { testPlacement } from '../sets/devices.ts';

export const slotOf = (
  devices: Uint8Array,
  offset: number,
  slots = DEFAULT_SLOTS,
  { hash } = testPlacement,
): number =>
  slotOfHash(
    hash(new Uint32Array(new Uint8Array(devices.subarray(offset, offset + IDENTIFIER_BYTES)).buffer), 0),
    slots,
  );

export function formatIdentifier(bytes: Uint8Array, offset = 0): string {
  const hex = Buffer.from(bytes.buffer, bytes.byteOffset + offset, IDENTIFIER_BYTES).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
