/**
 * Totals of the devices sent to each slot, of a batch, a file or a job: the number of pairs of device and key, and a checksum that
 * does not depend on their order. Validate computes them, the ledger stores them, and a sink merges a job only if its totals match.
 */
import { SLOTS, type SlotTotal } from '../../schemas/topics.ts';
import { IDENTIFIER_BYTES } from './identifier.ts';

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
    const words = wordsOf(devices);
    let sum = 0;
    // Computed twice per device, so it is cheaper than the hash that selects the slot; it need not be as uniform.
    for (let at = 0; at < words.length; at += 4) {
      const mixed =
        (Math.imul(words[at]!, 0x9e3779b1) +
          Math.imul(words[at + 1]!, 0x85ebca6b) +
          Math.imul(words[at + 2]!, 0xc2b2ae35) +
          Math.imul(words[at + 3]!, 0x27d4eb2f)) |
        0;
      sum = (sum + Math.imul(mixed ^ (mixed >>> 15), keyHash)) | 0;
    }
    addTotal(total, { pairs: devices.length / IDENTIFIER_BYTES, checksum: sum });
  }
}

/** The same bytes as 32-bit words; copied if they are not aligned. */
function wordsOf(devices: Uint8Array): Uint32Array {
  const { buffer, byteOffset, length } = devices.byteOffset % 4 === 0 ? devices : new Uint8Array(devices);
  return new Uint32Array(buffer, byteOffset, length / 4);
}

export function addTotal(total: SlotTotal, { pairs, checksum }: SlotTotal): void {
  total.pairs += pairs;
  total.checksum = (total.checksum + checksum) >>> 0;
}

export const isSameTotal = (a: SlotTotal, b: SlotTotal) => a.pairs === b.pairs && a.checksum === b.checksum;

/** FNV-1a, made odd so that the multiplication loses no bit of the device's hash. */
function hashKey(key: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(key)) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash | 1;
}

/** As stored in the ledger: a count and a checksum per slot, back to back. */
export function packTotals(totals: readonly SlotTotal[]): Buffer {
  const packed = Buffer.alloc(totals.length * TOTAL_BYTES);
  for (const [slot, { pairs, checksum }] of totals.entries()) {
    packed.writeDoubleLE(pairs, slot * TOTAL_BYTES);
    packed.writeUInt32LE(checksum, slot * TOTAL_BYTES + CHECKSUM_AT);
  }
  return packed;
}

export function unpackTotals(bytes: Uint8Array): SlotTotal[] {
  const totals = noTotals();
  addPacked(totals, bytes);
  return totals;
}

/** Adds totals as stored in the ledger, slot by slot. */
export function addPacked(totals: SlotTotal[], bytes: Uint8Array): void {
  const packed = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  for (const [slot, total] of totals.entries())
    addTotal(total, {
      pairs: packed.readDoubleLE(slot * TOTAL_BYTES),
      checksum: packed.readUInt32LE(slot * TOTAL_BYTES + CHECKSUM_AT),
    });
}
