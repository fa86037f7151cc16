import { describe, expect, it } from 'vitest';
import {
  age,
  bytes,
  count,
  duration,
  exactTime,
  indexNumber,
  percent,
  plural,
} from '../../api/client/format.ts';

describe('numbers', () => {
  it('have separators', () => {
    expect(count(1_234_567)).toBe('1,234,567');
    expect(plural(1, 'file')).toBe('1 file');
    expect(plural(2_000, 'file')).toBe('2,000 files');
  });

  it('are never rounded to nothing or to everything', () => {
    expect(percent(0)).toBe('0%');
    expect(percent(0.0004)).toBe('< 0.1%');
    expect(percent(0.1234)).toBe('12.3%');
    expect(percent(0.99951)).toBe('> 99.9%');
    expect(percent(1)).toBe('100%');
  });

  it('show a fraction of an index only where it matters', () => {
    expect(indexNumber(1543.4)).toBe('1,543');
    expect(indexNumber(3.25)).toBe('3.3');
  });

  it('of bytes have a unit', () => {
    expect(bytes(0)).toBe('0 bytes');
    expect(bytes(1_500)).toBe('1.5 kB');
    expect(bytes(2_000_000_000)).toBe('2 GB');
  });
});

describe('times', () => {
  const now = Date.parse('2026-06-01T12:00:00Z');
  const ago = (seconds: number) => new Date(now - seconds * 1000).toISOString();

  it('are said as an age', () => {
    expect(age(ago(-30), now)).toBe('just now');
    expect(age(ago(3), now)).toBe('just now');
    expect(age(ago(45), now)).toBe('45 seconds ago');
    expect(age(ago(150), now)).toBe('2 minutes ago');
    expect(age(ago(7_300), now)).toBe('2 hours ago');
    expect(age(ago(90_000), now)).toBe('yesterday');
    expect(age(ago(800 * 86_400), now)).toBe('2 years ago');
  });

  it('are exact in the zone of the reader', () => {
    expect(exactTime('2026-06-01T08:30:05.000Z', 'Europe/Berlin')).toBe('1 Jun 2026, 10:30:05 CEST');
  });

  it('that remain are rounded to what one would say', () => {
    expect(duration(0.2)).toBe('1 s');
    expect(duration(42)).toBe('42 s');
    expect(duration(150)).toBe('3 min');
    expect(duration(5_400)).toBe('1.5 h');
  });
});
