import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import {
  type AttributeRow,
  type RowFacts,
  renderRows,
  selectRows,
} from '../../api/resources/composition/attribute-rows.ts';
import { compositionCsv } from '../../api/resources/composition/composition-csv.ts';
import type { ShownComposition } from '../../api/resources/composition/composition-records.ts';

const hostile = [
  '=1+1',
  '+1',
  '-1',
  '@SUM(A1)',
  '\t=1',
  '\r=1',
  '"quoted", and more',
  'two\nlines',
  'two\r\nlines',
  'plain',
  "'already",
  '',
];
const defused = (name: string) => (/^[=+\-@\t\r]/.test(name) ? `'${name}` : name);

const rowsOf = (rows: AttributeRow[]): ShownComposition['attributeRows'] =>
  async function* (format) {
    const { index, [format]: text } = renderRows(rows);
    yield selectRows({ index: Buffer.from(index), text: Buffer.from(text) }, format, () => true);
  };
const attribute: AttributeRow = {
  attribute_id: 17,
  name: 'Travellers',
  owner: 'Acme',
  own: true,
  visibility: 'public',
  devices: 5,
  share: 0.5,
  index: 120,
};

async function csvOf(changes: Partial<ShownComposition>): Promise<string> {
  const summary = {
    audience_id: 42,
    name: 'Summer',
    computed_at: new Date('2026-06-01T08:35:00Z'),
    current: true,
    floor: 0,
    unique_devices: 10,
    matched_devices: 7,
    match_rate: 0.7,
    marketplace_devices: 100,
    overlap_count: 0,
    overlaps_complete: true,
  };
  const shown = { summary, events: [], overlaps: [], version: [], ...changes };
  let text = '';
  for await (const piece of compositionCsv({ attributeRows: rowsOf([]), ...shown })) text += piece;
  return text;
}

describe('the CSV of a report', () => {
  it('is one table, every line of it as long as the first', async () => {
    const csv = await csvOf({
      attributeRows: rowsOf([attribute]),
      events: [{ event: 'seen', devices: 4, rows: 6 }],
      overlaps: [{ audience_id: 40, name: 'Spring', devices: 3, share_of_this: 0.3, share_of_other: 0.25 }],
    });
    expect(csv.split('\r\n')).toEqual([
      'section,id,name,owner,visibility,devices,share,index,rows,share_of_other',
      'summary,audience,Summer,,,,,,,',
      'summary,computed_at,2026-06-01T08:35:00.000Z,,,,,,,',
      'summary,current,true,,,,,,,',
      'summary,unique_devices,,,,10,,,,',
      'summary,matched_devices,,,,7,0.7,,,',
      'summary,marketplace_devices,,,,100,,,,',
      'attribute,17,Travellers,Acme,public,5,0.5,120,,',
      'event,,seen,,,4,,,6,',
      'overlap,40,Spring,,,3,0.3,,,0.25',
      '',
    ]);
  });

  it('gives every name back, those that look like formulas with an apostrophe in front', async () => {
    const csv = await csvOf({ events: hostile.map((event) => ({ event, devices: null, rows: null })) });
    const rows = parse(csv, { columns: true, record_delimiter: '\r\n' }) as Record<string, string>[];
    const events = rows.filter(({ section }) => section === 'event');
    expect(events.map(({ name }) => name)).toEqual(hostile.map(defused));
    expect(new Set(events.map(({ devices, rows: count }) => `${devices}${count}`))).toEqual(new Set(['']));
  });
});

describe('rendered rows', () => {
  const rows = Array.from({ length: 50 }, (_, i): AttributeRow => {
    const own = i % 3 === 0;
    const visibility = i % 2 === 0 ? 'public' : 'private';
    return { ...attribute, attribute_id: i + 1, name: `“${i}”, ü`, own, visibility, devices: 100 - i };
  });
  const { index, ...texts } = renderRows(rows);
  const select = (format: 'json' | 'csv', isShown: (row: RowFacts) => boolean) =>
    selectRows({ index: Buffer.from(index), text: Buffer.from(texts[format]) }, format, isShown).toString();

  it('give those back that are shown, whichever these are', () => {
    const filters: ((row: RowFacts) => boolean)[] = [
      () => true,
      () => false,
      ({ isOwn }) => isOwn,
      ({ isPrivate }) => !isPrivate,
      ({ devices }) => devices >= 70,
      ({ attribute: id }) => id !== 1 && id !== 50,
    ];
    for (const isShown of filters) {
      const shown = rows.filter(({ attribute_id, devices, own, visibility }) =>
        isShown({ attribute: attribute_id, devices, isOwn: own, isPrivate: visibility === 'private' }),
      );
      expect(JSON.parse(`[${select('json', isShown).slice(0, -1)}]`)).toEqual(shown);
      expect(select('csv', isShown).split('\r\n').filter(Boolean)).toHaveLength(shown.length);
    }
  });
});
