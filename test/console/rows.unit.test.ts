import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { foldCase, searchRows, sortRows, windowOf } from '../../api/console/rows.ts';

describe('sorting', () => {
  const value = ({ devices }: { devices: number | null }) => devices;
  const rows = [{ devices: 5 }, { devices: null }, { devices: 70 }, { devices: 8 }];

  it('puts hidden numbers last in either direction', () => {
    expect(sortRows(rows, value, 'ascending').map(value)).toEqual([5, 8, 70, null]);
    expect(sortRows(rows, value, 'descending').map(value)).toEqual([70, 8, 5, null]);
  });

  it('compares names as people do', () => {
    const names = ['Café', 'apple 10', 'Zoo', 'apple 2'];
    expect(sortRows(names, (name) => name, 'ascending')).toEqual(['apple 2', 'apple 10', 'Café', 'Zoo']);
  });

  it('keeps the order of equal rows and changes nothing in place', () => {
    const equal = [
      { id: 1, devices: 1 },
      { id: 2, devices: 1 },
    ];
    expect(sortRows(equal, value, 'descending').map(({ id }) => id)).toEqual([1, 2]);
    expect(rows[0]).toEqual({ devices: 5 });
  });
});

describe('searching', () => {
  const rows = ['Coffee drinkers', 'TEA', 'Über'];
  const texts = rows.map(foldCase);

  it('ignores case, and spaces around the words', () => {
    expect(searchRows(rows, texts, ' tea ')).toEqual(['TEA']);
    expect(searchRows(rows, texts, 'üb')).toEqual(['Über']);
    expect(searchRows(rows, texts, '')).toBe(rows);
  });
});

describe('the window of a long table', () => {
  it('always has the rows in view, and never more than the view and its margins', () => {
    fc.assert(
      fc.property(
        fc.nat(5_000_000),
        fc.integer({ min: 1, max: 2_000 }),
        fc.nat(100_000),
        (top, height, rows) => {
          const rowHeight = 48;
          const { first, end } = windowOf({ top, height, rowHeight }, rows, 12);
          expect(first).toBeGreaterThanOrEqual(0);
          expect(end).toBeLessThanOrEqual(rows);
          expect(first).toBeLessThanOrEqual(end);
          expect(end - first).toBeLessThanOrEqual(Math.ceil(height / rowHeight) + 1 + 2 * 12);
          const firstInView = Math.floor(top / rowHeight);
          const lastInView = Math.min(rows, Math.ceil((top + height) / rowHeight)) - 1;
          if (firstInView <= lastInView) {
            expect(first).toBeLessThanOrEqual(firstInView);
            expect(end).toBeGreaterThan(lastInView);
          }
        },
      ),
    );
  });

  it('survives a scroll beyond the end, as after a search that finds less', () => {
    expect(windowOf({ top: 4_800_000, height: 480, rowHeight: 48 }, 3)).toEqual({ first: 0, end: 3 });
    expect(windowOf({ top: 100, height: 480, rowHeight: 48 }, 0)).toEqual({ first: 0, end: 0 });
  });
});
