import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import { compositionCsv } from '../../api/routes/composition-csv.ts';
import type { ShownComposition } from '../../api/routes/composition-records.ts';

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
  };
  const none = (async function* () {})() as ShownComposition['attributes'];
  let text = '';
  for await (const piece of compositionCsv({
    summary,
    attributes: none,
    events: [],
    overlaps: [],
    ...changes,
  }))
    text += piece;
  return text;
}

describe('the CSV of a report', () => {
  it('is one table, every line of it as long as the first', async () => {
    const attribute = { attribute_id: 17, name: 'Travellers', devices: 5, share: 0.5, index: 120 };
    const csv = await csvOf({
      attributes: (async function* () {
        yield attribute;
      })(),
      events: [{ event: 'seen', devices: 4, rows: 6 }],
      overlaps: [{ audience_id: 40, name: 'Spring', devices: 3, share_of_this: 0.3, share_of_other: 0.25 }],
    });
    expect(csv.split('\r\n')).toEqual([
      'section,id,name,devices,share,index,rows,share_of_other',
      'summary,audience,Summer,,,,,',
      'summary,computed_at,2026-06-01T08:35:00.000Z,,,,,',
      'summary,current,true,,,,,',
      'summary,unique_devices,,10,,,,',
      'summary,matched_devices,,7,0.7,,,',
      'summary,marketplace_devices,,100,,,,',
      'attribute,17,Travellers,5,0.5,120,,',
      'event,,seen,4,,,6,',
      'overlap,40,Spring,3,0.3,,,0.25',
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

  it('of 100,000 attributes comes in pieces', async () => {
    const rows = async function* () {
      for (let id = 1; id <= 100_000; id++)
        yield { attribute_id: id, name: `Attribute ${id}`, devices: id, share: 0.5, index: 100 };
    };
    const csv = await csvOf({ attributes: rows() });
    expect(csv.split('\r\n')).toHaveLength(100_000 + 8);
  });
});
