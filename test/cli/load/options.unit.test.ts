import { expect, it } from 'vitest';
import { planOf, ramp, rate, share } from '../../../deploy/cli/load/options.ts';

const options = {
  files: 1,
  rows: 1,
  jobs: 1,
  gzip: false,
  duplicates: 0,
  invalid: 0,
  layout: 'b' as const,
  attributes: 1,
  step: 60_000,
  parallel: 1,
};

it('rates, ramps and shares are understood, and nothing like them', () => {
  expect(['2/s', '30/m', '0.5', '7200/h'].map(rate)).toEqual([2, 0.5, 0.5, 2]);
  expect(ramp('1..20')).toEqual({ from: 1, to: 20, by: 1 });
  expect(ramp('10..200:10')).toEqual({ from: 10, to: 200, by: 10 });
  expect(['0', '.2', '0.25'].map(share)).toEqual([0, 0.2, 0.25]);
  for (const wrong of ['', '0', '-1/s', '1/d', '1e3', 'fast'])
    expect(() => rate(wrong)).toThrow('such as 2/s');
  for (const wrong of ['', '1', '5..1', '0..5', '1..2:0', '1...2'])
    expect(() => ramp(wrong)).toThrow('such as 1..20');
  for (const wrong of ['', '1', '-0.1', '20%', '1.5']) expect(() => share(wrong)).toThrow('such as 0.2');
});

it('a plan has a folder and a seed of its own unless told, and not two rates', () => {
  expect(planOf({ ...options, prefix: 'my/folder' })).toMatchObject({ prefix: 'my/folder/' });
  expect(planOf(options).prefix).toMatch(/^load\/.+\/$/);
  expect(planOf(options).prefix).not.toBe(planOf(options).prefix);
  expect(() => planOf({ ...options, rate: 1, ramp: ramp('1..2') })).toThrow('remove --rate');
});
