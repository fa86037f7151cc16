import { expect, it } from 'vitest';
import { blankRows, ERASED, identifiersIn } from '../../pipeline/formats/find-identifiers.ts';

const DEVICE = '8f9bb0d55b0c4e2b9c1d2f6c1f0e7a11';
const CANONICAL = '8f9bb0d5-5b0c-4e2b-9c1d-2f6c1f0e7a11';

it.each([
  DEVICE,
  CANONICAL,
  `x,"${CANONICAL.toUpperCase()}",y`,
  `gaid${DEVICE}`,
  `gaid${CANONICAL}`,
  `${DEVICE}0`,
  `${'0'.repeat(40)}${DEVICE}`,
])('an identifier is found in %s', (raw) => {
  expect(identifiersIn(raw)).toContain(DEVICE);
  expect(blankRows([{ raw }], (identifier) => identifier === DEVICE)).toEqual([{ raw: ERASED }]);
});

it('there is none in other text', () => {
  expect(identifiersIn(`${DEVICE.slice(1)} ${CANONICAL.slice(0, -1)}`)).toEqual([]);
});
