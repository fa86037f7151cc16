/** The arithmetic behind the report's charts and tables. */
import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import { asOf } from '../../api/client/format.ts';
import type { Composition } from '../../api/client/types.ts';
import { commonDevices, compareReports } from '../../api/console/compare.ts';
import { fileNameOf } from '../../api/console/csv.ts';
import { labelEvery, ticksUpTo } from '../../api/console/growth.ts';
import {
  type Attribute,
  byStandingOut,
  categoryOf,
  deviation,
  isByChance,
} from '../../api/console/stand-out.ts';
import { lensArea, vennOf } from '../../api/console/venn.ts';
import { csvLineOf } from '../../schemas/csv.ts';

const attribute = (attribute_id: number, devices: number, index: number): Attribute => ({
  attribute_id,
  name: `Attribute ${attribute_id}`,
  owner: 'Demo',
  own: true,
  visibility: 'public',
  devices,
  share: devices / 10_000,
  index,
});

describe('what stands out', () => {
  it('is measured on a scale on which half and twice as common are equally far from the average', () => {
    expect([25, 50, 100, 200, 400].map(deviation)).toEqual([-1, -0.5, 0, 0.5, 1]);
    expect([1, 10_000].map(deviation)).toEqual([-1, 1]);
  });

  it('comes first, in either direction; what may be chance comes last', () => {
    const rows = [
      attribute(1, 5_000, 101),
      attribute(2, 3, 180),
      attribute(3, 900, 40),
      attribute(4, 2_000, 150),
      attribute(5, 700, 300),
    ];
    expect(byStandingOut(rows).map(({ attribute_id }) => attribute_id)).toEqual([5, 3, 4, 1, 2]);
    expect(isByChance({ devices: 3, index: 180 })).toBe(true);
    expect(isByChance({ devices: 3_000, index: 180 })).toBe(false);
  });

  it.each([
    ['Travel > Air > Frequent flyers', 'Travel > Air', 'Frequent flyers'],
    ['Pet owners', '', 'Pet owners'],
    [' > nothing before', '', ' > nothing before'],
    ['nothing behind > ', '', 'nothing behind > '],
    ['a>b', '', 'a>b'],
  ])('%s is in the category “%s”', (name, category, label) => {
    expect(categoryOf(name)).toEqual({ category, label });
  });
});

describe('circles', () => {
  it.each([
    [1_000, 1_000, 250],
    [1_000, 100, 99],
    [50, 4_000, 10],
    [10, 10, 0],
    [10, 1_000, 10],
  ])('of %i and %i devices have the area of the %i in both', (devices, other, common) => {
    const { radius, otherRadius, distance } = vennOf(devices, other, common, 2);
    expect(Math.PI * radius ** 2).toBeCloseTo(devices * 2, 6);
    expect(Math.PI * otherRadius ** 2).toBeCloseTo(other * 2, 6);
    expect(lensArea(radius, otherRadius, distance)).toBeCloseTo(common * 2, 3);
  });
});

describe('an axis', () => {
  it.each([0, 1, 3, 9, 10, 99, 101, 12_345, 13_218, 999_999, 1_000_001])('holds %i', (max) => {
    const ticks = ticksUpTo(max);
    expect(ticks[0]).toBe(0);
    expect(ticks.at(-1)).toBeGreaterThanOrEqual(max);
    expect(ticks.length).toBeLessThanOrEqual(5);
    expect(ticks.every(Number.isInteger)).toBe(true);
  });

  it('has labels that do not overlap', () => {
    expect([labelEvery(4, 1_000, 84), labelEvery(100, 1_000, 84), labelEvery(12, 280, 84)]).toEqual([
      1, 9, 4,
    ]);
  });
});

const report = (given: Partial<Composition>) =>
  ({
    unique_devices: 100,
    floor: 0,
    attributes: [],
    events: [],
    overlaps: [],
    overlap_count: 0,
    overlaps_complete: true,
    ...given,
  }) as unknown as Composition;

describe('two reports', () => {
  it('are compared by share, the largest difference first, without what neither has', () => {
    const one = report({
      attributes: [attribute(1, 1_000, 100), attribute(2, 5_000, 100)],
      events: [
        { event: 'visit', devices: 80, rows: 90 },
        { event: 'rare', devices: 0, rows: 0 },
      ],
    });
    const other = report({
      unique_devices: 200,
      attributes: [attribute(2, 4_500, 100), attribute(3, 3_000, 100)],
      events: [{ event: '(no event)', devices: 200, rows: 200 }],
    });
    const { attributes, events } = compareReports(one, other);
    expect(attributes.map(({ key, shares }) => [key, ...shares])).toEqual([
      [3, 0, 0.3],
      [1, 0.1, 0],
      [2, 0.5, 0.45],
    ]);
    expect(events.map(({ name, shares }) => [name, ...shares])).toEqual([
      ['(no event)', 0, 1],
      ['visit', 0.8, 0],
    ]);
  });

  it('say how many devices they have in common, unless a report does not list it', () => {
    const overlap = { audience_id: 2, name: 'b', devices: 7, share_of_this: 0.1, share_of_other: 0.2 };
    const one = report({ audience_id: 1, overlaps: [overlap], overlap_count: 1 });
    const other = report({ audience_id: 2 });
    expect(commonDevices(one, other)).toBe(7);
    expect(commonDevices(other, one)).toBe(7);
    expect(commonDevices(other, report({ audience_id: 3 }))).toBe(0);
    const cut = { overlap_count: 500 };
    expect(commonDevices(report({ audience_id: 4, ...cut }), report({ audience_id: 3, ...cut }))).toBeNull();
    const floor = { floor: 10 };
    expect(
      commonDevices(report({ audience_id: 4, ...floor }), report({ audience_id: 3, ...floor })),
    ).toBeNull();
  });
});

describe('a CSV file', () => {
  it('gives back what was written, and no formula', () => {
    const cells = ['a, "b"\nc', '=1+1', 'plain', 1.5, null, undefined];
    expect(parse(csvLineOf(cells))).toEqual([['a, "b"\nc', "'=1+1", 'plain', '1.5', '', '']]);
  });

  it('is named after what it holds', () => {
    expect(fileNameOf('Spring: “visitors” / 2026')).toBe('spring-visitors-2026');
    expect(fileNameOf('…')).toBe('table');
  });
});

describe('a report', () => {
  it('is as of a time of today, or of a day, in the zone of its reader', () => {
    const now = Date.parse('2026-11-18T10:00:00Z');
    expect(asOf('2026-11-18T08:13:20Z', now, 'UTC')).toBe('08:13');
    expect(asOf('2026-11-18T08:13:20Z', now, 'Asia/Tokyo')).toBe('17:13');
    expect(asOf('2026-11-17T08:13:20Z', now, 'UTC')).toBe('17 Nov 2026, 08:13');
  });
});
