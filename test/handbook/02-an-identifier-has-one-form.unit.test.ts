/**
 * 2. An advertising identifier is 32 hexadecimal digits in groups of 8-4-4-4-12, in any case. It is stored as 16 bytes, so a device
 *    has the same bytes however a partner writes it. All zeros means that the user opted out.
 */
import { expect, it } from 'vitest';
import { Parsed, parseIdentifier, WORDS } from '../../pipeline/formats/identifier.ts';

function parse(text: string): { result: Parsed; hex: string } {
  const target = new Uint32Array(WORDS);
  const result = parseIdentifier(Buffer.from(text), 0, target);
  return { result, hex: Buffer.from(target.buffer).toString('hex') };
}

it('upper and lower case are one device', () => {
  const lower = parse('6d92078a-8246-4ba4-ae5b-76104861e7dc');
  expect(lower).toEqual({ result: Parsed.ok, hex: '6d92078a82464ba4ae5b76104861e7dc' });
  expect(parse('6D92078A-8246-4BA4-AE5B-76104861E7DC')).toEqual(lower);
});

it('all zeros is nobody', () => {
  expect(parse('00000000-0000-0000-0000-000000000000').result).toBe(Parsed.zeros);
});

it.each(['6d92078a82464ba4ae5b76104861e7dc....', '6d92078a-8246-4ba4-ae5b-76104861e7dg'])(
  '%s is not an identifier',
  (text) => {
    expect(parse(text).result).toBe(Parsed.bad);
  },
);
