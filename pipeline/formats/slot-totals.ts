/**
 * What the slots get of a batch, a file or a job: pairs of device and key, and a checksum of them that does not depend on their
 * order. Validate counts what it sends, the ledger keeps it, and a sink merges a job only if it holds just that.
 */
import { SLOTS, type SlotTotal } from '../../schemas/topics.ts';
import { hashIdentifier, IDENTIFIER_BYTES } from './identifier.ts';

interface Group {
  key: string;
  devices: Uint8Array;
}

const TOTAL_BYTES = 12;
const CHECKSUM_AT = 8;

export const noTotals = (): SlotTotal[] => Array.from({ length: SLOTS }, () => ({ pairs: 0, checksum: 0 }));

/** Adds the devices of the groups to the total. */
export function countGroups(total: SlotTotal, groups: readonly Group[]): void {
  for (const { key, devices } of groups) {
    const keyHash = hashKey(key);
    let sum = 0;
    for (let at = 0; at < devices.length; at += IDENTIFIER_BYTES)
      sum = (sum + Math.imul(hashIdentifier(devices, at), keyHash)) | 0;
    addTotal(total, { pairs: devices.length / IDENTIFIER_BYTES, checksum: sum });
  }
}

export function addTotal(total: SlotTotal, { pairs, checksum }: SlotTotal): void {
  total.pairs += pairs;
  total.checksum = (total.checksum + checksum) >>> 0;
}

export const isSameTotal = (a: SlotTotal, b: SlotTotal) => a.pairs === b.pairs && a.checksum === b.checksum;

/** FNV-1a; odd, so that no bit of a device's hash is lost by the product. */
function hashKey(key: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(key)) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash | 1;
}

/** As the ledger keeps them: a count and a checksum a slot, back to back. */
export function packTotals(totals: readonly SlotTotal[]): Buffer {
  const packed = Buffer.alloc(totals.length * TOTAL_BYTES);
  for (const [slot, { pairs, checksum }] of totals.entries()) {
    packed.writeDoubleLE(pairs, slot * TOTAL_BYTES);
    packed.writeUInt32LE(checksum, slot * TOTAL_BYTES + CHECKSUM_AT);
  }
  return packed;
}

/** Adds what the ledger keeps to the totals, slot by slot. */
export function addPacked(totals: SlotTotal[], bytes: Uint8Array): void {
  const packed = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  for (const [slot, total] of totals.entries())
    addTotal(total, {
      pairs: packed.readDoubleLE(slot * TOTAL_BYTES),
      checksum: packed.readUInt32LE(slot * TOTAL_BYTES + CHECKSUM_AT),
    });
}
