import { expect, test, vi } from 'vitest';
import { parsePlace } from '../../deploy/cli/operator/options.ts';

const now = Date.parse('2026-11-16T08:00:00Z');

test.each([
  ['beginning', 'beginning'],
  ['end', 'end'],
  ['0', { offset: 0n }],
  ['9007199254740993', { offset: 9007199254740993n }],
  ['-10m', { time: now - 600_000 }],
  ['+2d', { time: now + 172_800_000 }],
  ['2026-11-16T07:30:00Z', { time: now - 1_800_000 }],
  ['2026-11-16', { time: now - 8 * 3_600_000 }],
])('%s is a place', (text, place) => {
  vi.useFakeTimers({ now });
  expect(parsePlace(text)).toEqual(place);
  vi.useRealTimers();
});

test.each(['', 'now', '10m', '-10', '-10y', '-1', '1.5', '2026-13-01', '1e3'])('%j is none', (text) => {
  expect(() => parsePlace(text)).toThrow('expected beginning, end, -10m');
});
