/**
 * Totals of the devices sent to each slot, of a batch, a file or a job: the number of pairs of device and key, and a checksum that
 * does not depend on their order. Validate computes them, the ledger stores them, and a sink merges a job only if its totals match.
 */
import { DEFAULT_SLOTS, type SlotTotal } from '../../schemas/topics.ts';
import { copyDevices, eachGroup } from '../wire/device-groups.ts';
import { WORDS } from './identifier.ts';

/**
 * Limit of a job's pairs per slot: 4 billion with 16 slots. A merge sorts one address range at a time in memory and reads a large range
 * once per part: eight times at this limit (stages/sink/merge-jobs.ts).
 */
export const MAX_PAIRS_A_SLOT = 2 ** 28;

/** Limit of an access request's devices per slot, 80,000 with 16 slots: each is looked up in every audience, and the answer is stored. */
export const MAX_ANSWERED_A_SLOT = 5_000;

const TOTAL_BYTES = 12;
const CHECKSUM_AT = 8;

/** Slots beyond the end of the list have no pairs either. */
export const noTotals = (slots = DEFAULT_SLOTS): SlotTotal[] =>
  Array.from({ length: slots }, () => ({ pairs: 0, checksum: 0 }));

/** Aligned copy, reused for each group. */
let scratch = new Uint32Array(1 << 12);

/** Adds the devices of groups, as they are in a message, to the total. */
export function countGroups(total: SlotTotal, groups: Buffer): void {
  eachGroup(groups, (start, end, at, devices) => {
    if (scratch.length < devices * WORDS) scratch = new Uint32Array(2 * devices * WORDS);
    copyDevices(groups, at, devices, new Uint8Array(scratch.buffer), 0);
    const key = hashKey(groups, start, end);
    let checksum = 0;
    for (let n = 0; n < devices; n++) checksum = (checksum + checksumOf(scratch, n * WORDS, key)) | 0;
    addTotal(total, { pairs: devices, checksum });
  });
}

/** Computed twice per device, so it is cheaper than the hash that selects the slot; it need not be as uniform. */
export function checksumOf(words: Uint32Array, at: number, keyHash: number): number {
  const mixed =
    (Math.imul(words[at]!, 0x9e3779b1) +
      Math.imul(words[at + 1]!, 0x85ebca6b) +
      Math.imul(words[at + 2]!, 0xc2b2ae35) +
      Math.imul(words[at + 3]!, 0x27d4eb2f)) |
    0;
  return Math.imul(mixed ^ (mixed >>> 15), keyHash);
}

/** FNV-1a. Odd, so that the multiplication loses no bit of the device's hash. */
export function hashKey(key: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ key[at]!, 0x01000193);
  return hash | 1;
}

export function addTotal(total: SlotTotal, { pairs, checksum }: SlotTotal): void {
  total.pairs += pairs;
  total.checksum = (total.checksum + checksum) >>> 0;
}

export const isSameTotal = (a: SlotTotal, b: SlotTotal) => a.pairs === b.pairs && a.checksum === b.checksum;

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
  const slots = packed.length / TOTAL_BYTES;
  totals.push(...noTotals(slots - totals.length));
  for (const [slot, total] of totals.slice(0, slots).entries())
    addTotal(total, {
      pairs: packed.readDoubleLE(slot * TOTAL_BYTES),
      checksum: packed.readUInt32LE(slot * TOTAL_BYTES + CHECKSUM_AT),
    });
}
