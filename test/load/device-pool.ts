/** Numbered devices by slot. Keeps one byte per device, so that one slot of many millions of devices can be generated alone. */

import { createIdentifiers } from '../../deploy/cli/load/identifiers.ts';
import type { DeviceHash } from '../../pipeline/formats/device-hash.ts';
import { slotOfHash, WORDS } from '../../pipeline/formats/identifier.ts';
import { DEFAULT_SLOTS } from '../../schemas/topics.ts';

/** [first, end): the end is exclusive. */
export type NumberRange = readonly [number, number];

export function createDevicePool(seed: number, count: number, hash: DeviceHash) {
  const identifiers = createIdentifiers(seed);
  const slots = new Uint8Array(count);
  const one = new Uint32Array(WORDS);
  for (let device = 0; device < count; device++) {
    identifiers.writeWords(one, 0, device);
    slots[device] = slotOfHash(hash(one, 0), DEFAULT_SLOTS);
  }

  return {
    /** The concatenated identifiers of the devices in these ranges that belong to the slot. */
    inSlot(slot: number, ranges: readonly NumberRange[]): Uint8Array {
      const expected = ranges.reduce((sum, [from, to]) => sum + (to - from), 0) / DEFAULT_SLOTS;
      let words = new Uint32Array(WORDS * Math.ceil(expected * 1.1 + 100));
      let at = 0;
      for (const [from, to] of ranges) {
        for (let device = from; device < to; device++) {
          if (slots[device] !== slot) continue;
          if (at === words.length) {
            const larger = new Uint32Array(words.length * 2);
            larger.set(words);
            words = larger;
          }
          identifiers.writeWords(words, at, device);
          at += WORDS;
        }
      }
      return new Uint8Array(words.buffer, 0, at * Uint32Array.BYTES_PER_ELEMENT);
    },
  };
}
