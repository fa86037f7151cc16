import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Parsed, parseIdentifier } from '../../pipeline/formats/identifier.ts';
import { DEFAULT_SLOTS } from '../../schemas/topics.ts';
import { formatIdentifier, slotOf } from './identifiers.ts';

const bytesOf = (text: string) => Buffer.from(text.replaceAll('-', ''), 'hex');

describe('an identifier', () => {
  it('is read in any case, at any place, and written in one form', () => {
    fc.assert(
      fc.property(
        fc.uuid(),
        fc.array(fc.boolean(), { minLength: 36, maxLength: 36 }),
        fc.nat({ max: 40 }),
        (id, upper, at) => {
          const text = [...id].map((digit, place) => (upper[place] ? digit.toUpperCase() : digit)).join('');
          const words = new Uint32Array(4);
          expect(parseIdentifier(Buffer.from(`${'x'.repeat(at)}${text},5`), at, words)).toBe(Parsed.ok);
          expect(formatIdentifier(new Uint8Array(words.buffer))).toBe(id.toLowerCase());
          expect(Buffer.from(words.buffer)).toEqual(bytesOf(id));
        },
      ),
    );
  });

  it('of zeros is an opt-out', () => {
    const zeros = Buffer.from('00000000-0000-0000-0000-000000000000');
    expect(parseIdentifier(zeros, 0, new Uint32Array(4))).toBe(Parsed.zeros);
    for (const place of [0, 7, 9, 35]) {
      const other = Buffer.from(zeros);
      other[place] = 0x31;
      expect(parseIdentifier(other, 0, new Uint32Array(4))).toBe(Parsed.ok);
    }
  });

  it('with any one byte that does not belong there is bad', () => {
    const good = Buffer.from('abcdef01-2345-4789-8abc-def012345678');
    for (let place = 0; place < 36; place++) {
      for (let byte = 0; byte < 256; byte++) {
        const text = Buffer.from(good);
        text[place] = byte;
        const fits = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text.toString('latin1'));
        expect(parseIdentifier(text, 0, new Uint32Array(4)) === Parsed.ok).toBe(fits);
      }
    }
  });

  it('cut short by the end of the bytes is bad', () => {
    const good = Buffer.from('abcdef01-2345-4789-8abc-def012345678');
    for (let length = 0; length < 36; length++) {
      expect(parseIdentifier(good.subarray(0, length), 0, new Uint32Array(4))).toBe(Parsed.bad);
    }
  });
});

describe('a slot', () => {
  it('does not depend on where the identifier stands', () => {
    const device = bytesOf('abcdef01-2345-4789-8abc-def012345678');
    const shifted = Buffer.concat([Buffer.alloc(7, 0xff), device]);
    expect(slotOf(shifted, 7)).toBe(slotOf(device, 0));
  });

  it.each([
    ['random', () => bytesOf(randomUUID())],
    [
      'counting in the first bytes',
      (n: number) => bytesOf(`${n.toString(16).padStart(8, '0')}-0000-4000-8000-000000000000`),
    ],
    [
      'counting in the last bytes',
      (n: number) => bytesOf(`00000000-0000-4000-8000-${n.toString(16).padStart(12, '0')}`),
    ],
    [
      'counting in the middle',
      (n: number) =>
        bytesOf(
          `aaaaaaaa-${(n >> 4).toString(16).padStart(4, '0')}-4${(n & 15).toString(16)}00-8000-000000000000`,
        ),
    ],
  ])('takes its share of identifiers that are %s', (_, identifier) => {
    const total = 32_000;
    for (const slots of [DEFAULT_SLOTS, 64]) {
      const counts = new Array<number>(slots).fill(0);
      for (let n = 0; n < total; n++) counts[slotOf(identifier(n), 0, slots)]!++;
      // Within five standard deviations.
      const spread = 5 * Math.sqrt((total / slots) * (1 - 1 / slots));
      for (const count of counts) expect(Math.abs(count - total / slots)).toBeLessThan(spread);
    }
  });
});
