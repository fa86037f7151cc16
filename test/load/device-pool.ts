/** Numbered devices by slot. One byte a device is kept, so that a slot of many millions can be generated without the others. */
import { hashIdentifier, IDENTIFIER_BYTES, SLOTS, slotOfHash } from '../../pipeline/formats/identifier.ts';
import { createIdentifiers } from './identifiers.ts';

const WORDS = IDENTIFIER_BYTES / 4;

/** Numbers from the first up to, without, the second. */
export type NumberRange = readonly [number, number];

export type DevicePool = ReturnType<typeof createDevicePool>;

export function createDevicePool(seed: number, count: number) {
  const identifiers = createIdentifiers(seed);
  const slots = new Uint8Array(count);
  const one = new Uint32Array(WORDS);
  const bytes = new Uint8Array(one.buffer);
  for (let device = 0; device < count; device++) {
    identifiers.writeWords(one, 0, device);
    slots[device] = slotOfHash(hashIdentifier(bytes, 0));
  }

  return {
    /** The identifiers of these numbers that are in the slot, one after the other. */
    inSlot(slot: number, ranges: readonly NumberRange[]): Uint8Array {
      const expected = ranges.reduce((sum, [from, to]) => sum + (to - from), 0) / SLOTS;
      let words = new Uint32Array(WORDS * Math.ceil(expected * 1.1 + 1_000));
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
      return new Uint8Array(words.buffer, 0, at * 4);
    },
  };
}
