import { describe, expect, it } from 'vitest';
import { foldCase, searchRows, sortRows } from '../../api/console/rows.ts';

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
