import { describe, expect, it } from 'vitest';
import { createGenerator } from '../../deploy/cli/load/generate.ts';
import {
  IDENTIFIER_BYTES,
  Parsed,
  parseIdentifier,
  slotOfHash,
  WORDS,
} from '../../pipeline/formats/identifier.ts';
import { DEFAULT_SLOTS } from '../../schemas/topics.ts';
import { testPlacement } from '../sets/devices.ts';
import { createDevicePool } from './device-pool.ts';

const SEED = 7;
const { hash } = testPlacement;
const ROW = 38;

/** The identifiers in a file with these devices, as hexadecimal digits. */
function inFile(from: number, to: number): string[] {
  const generator = createGenerator({ seed: SEED, duplicates: 0, keys: [''], firstDevice: from });
  const { bytes } = generator.nextFile({ rows: to - from });
  return Array.from({ length: to - from }, (_, row) => {
    const device = new Uint32Array(WORDS);
    expect(parseIdentifier(bytes, row * ROW, device)).toBe(Parsed.ok);
    return Buffer.from(device.buffer).toString('hex');
  });
}

function inPool(slot: number, ranges: readonly (readonly [number, number])[]): string[] {
  const devices = Buffer.from(createDevicePool(SEED, 5_000, hash).inSlot(slot, ranges));
  return Array.from({ length: devices.length / IDENTIFIER_BYTES }, (_, n) =>
    devices.toString('hex', n * IDENTIFIER_BYTES, (n + 1) * IDENTIFIER_BYTES),
  );
}

describe('devices that the bench stores directly', () => {
  it('are those that a generated file holds under the same numbers, each in its slot', () => {
    const found: string[] = [];
    for (let slot = 0; slot < DEFAULT_SLOTS; slot++) {
      const devices = inPool(slot, [
        [0, 1_000],
        [3_000, 5_000],
      ]);
      const words = new Uint32Array(new Uint8Array(Buffer.from(devices.join(''), 'hex')).buffer);
      for (const n of devices.keys()) expect(slotOfHash(hash(words, n * 4), DEFAULT_SLOTS)).toBe(slot);
      found.push(...devices);
    }
    expect(found.sort()).toEqual([...inFile(0, 1_000), ...inFile(3_000, 5_000)].sort());
  });
});
