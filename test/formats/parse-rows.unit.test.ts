import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createKeyTable } from '../../pipeline/formats/key-table.ts';
import { OTHER_EVENTS, type ParsedRows, parseRows } from '../../pipeline/formats/parse-rows.ts';
import { decodeGroups } from '../../pipeline/wire/device-groups.ts';
import { testSlots } from '../sets/devices.ts';
import { formatIdentifier } from './identifiers.ts';

const A = 'aaaaaaaa-0000-4000-8000-000000000001';
const B = 'bbbbbbbb-0000-4000-8000-000000000002';
const ZEROS = '00000000-0000-0000-0000-000000000000';
const keys = createKeyTable([
  { key: '5', attribute: 5 },
  { key: '50', attribute: 50 },
  { key: 'five', attribute: 5 },
]);

const attributes = (text: string, maxRejects = 100, table = keys) =>
  parseRows(
    { rows: Buffer.from(text), first_line: 1, delimiter: 0x2c, layout: 'attributes' },
    { keys: table, slots: testSlots, maxRejects },
  );
const audience = (text: string, first_line = 1) =>
  parseRows(
    { rows: Buffer.from(text), first_line, delimiter: 0x2c, layout: 'audience' },
    { slots: testSlots, maxRejects: 100 },
  );

function devicesOf({ slots }: ParsedRows): Record<string, string[]> {
  const found: Record<string, string[]> = {};
  for (const { key, devices } of slots.flatMap(({ groups }) => decodeGroups(groups))) {
    for (let at = 0; at < devices.length; at += 16) {
      found[key] = [...(found[key] ?? []), formatIdentifier(devices, at)].sort();
    }
  }
  return found;
}

describe('rows with attributes', () => {
  it('bring each device once to each of its attributes', () => {
    const parsed = attributes(`${A},5\n${A.toUpperCase()},5\r\n${B},5,50,,five\n\n${A},50`);
    expect(parsed).toMatchObject({
      rows: 4,
      accepted: 4,
      lines: 5,
      pairsRead: 5,
      pairs: 4,
      rejected: {},
      rejects: [],
    });
    expect(devicesOf(parsed)).toEqual({ 5: [A, B], 50: [A, B] });
    expect(parsed.failure).toBeUndefined();
    expect(parsed.events).toBeUndefined();
  });

  it.each([
    ['nobody,5', 'bad_identifier'],
    ['nobody,6', 'bad_identifier'],
    [`${A.slice(1)},5`, 'bad_identifier'],
    [`${A}0,5`, 'bad_identifier'],
    [`${A} 0,5`, 'bad_identifier'],
    [',5', 'bad_identifier'],
    [`${ZEROS},5`, 'opted_out'],
    [`${ZEROS},6`, 'opted_out'],
    [`${ZEROS}`, 'opted_out'],
    [`${A}`, 'missing_key'],
    [`${A},`, 'missing_key'],
    [`${A},,"",`, 'missing_key'],
    [`${A},6`, 'unknown_key'],
    [`${A},5,6`, 'unknown_key'],
    [`${A},05`, 'unknown_key'],
    [`${A},5 0`, 'unknown_key'],
    [`${A}, ," "`, 'missing_key'],
    [`${A}, "5" x`, 'bad_quotes'],
    [`${A},"5`, 'bad_quotes'],
    [`${A},"5"x`, 'bad_quotes'],
    [`"${A}"x,5`, 'bad_quotes'],
    [`"nobody,"5"`, 'bad_quotes'],
  ])('are refused whole: %s is %s', (row, code) => {
    const parsed = attributes(row);
    expect(parsed).toMatchObject({ rows: 1, accepted: 0, pairsRead: 0, pairs: 0, slots: [] });
    expect(parsed.rejected).toEqual({ [code]: 1 });
    expect(parsed.rejects).toEqual([{ line: 1, code, raw: row }]);
  });

  it('may have spaces around their fields, in quotes or not', () => {
    const rows = [` ${A},5`, `${A} , 50 `, ` "${A}" , "50"`, `" ${B} ", " five "  `, `${B}  ,  ,50 `];
    const parsed = attributes(`${rows.join('\r\n')}\r\n`);
    expect(parsed).toMatchObject({ rows: 5, accepted: 5, lines: 5, rejected: {} });
    expect(devicesOf(parsed)).toEqual({ 5: [A, B], 50: [A, B] });
  });

  it('may be quoted, and hold quotes, delimiters and newlines', () => {
    const odd = createKeyTable([{ key: 'a,"b"\nc', attribute: 9 }]);
    const parsed = attributes(`"${A}","a,""b""\nc"\r\n${B},"a,""b""\nc"`, 0, odd);
    expect(parsed).toMatchObject({ rows: 2, accepted: 2, lines: 4 });
    expect(devicesOf(parsed)).toEqual({ 9: [A, B] });
  });

  it('keep a row with thousands of columns', () => {
    const parsed = attributes(`${A}${',5'.repeat(5_000)},50\n`);
    expect(parsed).toMatchObject({ accepted: 1, pairsRead: 2, pairs: 2 });
  });

  it('keep rejected rows up to a number, and count them all', () => {
    const parsed = attributes('x,5\n'.repeat(10), 3);
    expect(parsed.rejected).toEqual({ bad_identifier: 10 });
    expect(parsed.rejects.map(({ line }) => line)).toEqual([1, 2, 3]);
  });

  it('cut a rejected row at 200 bytes, between characters', () => {
    for (let shift = 0; shift < 4; shift++) {
      const [reject] = attributes(`${'x'.repeat(shift)}${'\u{1f600}'.repeat(100)}\n`).rejects;
      expect(Buffer.byteLength(reject!.raw)).toBe(shift === 0 ? 200 : 196 + shift);
      expect(reject!.raw).not.toContain('\ufffd');
      expect(reject!.isCut).toBe(true);
    }
  });

  it.each([A, A.toUpperCase(), A.replaceAll('-', ''), `${A.replaceAll('-', '')}${'0'.repeat(60)}`])(
    'cut a rejected row before an identifier that reaches beyond 200 bytes: %s',
    (text) => {
      for (let left = 0; left < text.length + 3; left++) {
        const before = 'x'.repeat(200 - left);
        const [reject] = attributes(`${before}${text}\n`).rejects;
        const isWhole = left >= text.length;
        expect([reject!.raw, reject!.isCut ?? false]).toEqual([isWhole ? before + text : before, !isWhole]);
      }
    },
  );

  it('do not call a row of exactly 200 bytes cut', () => {
    const [whole, cut] = attributes(`${'x'.repeat(200)}\r\n${'x'.repeat(201)}\n`).rejects;
    expect([whole!.isCut, cut!.isCut]).toEqual([undefined, true]);
    expect(whole!.raw).toBe(cut!.raw);
  });

  it('grow with the batch, and forget it afterwards', () => {
    const devices = Array.from({ length: 50_000 }, () => randomUUID());
    const large = attributes(devices.map((device) => `${device},5,50\n`).join(''));
    expect(large).toMatchObject({ accepted: 50_000, pairs: 100_000 });
    expect(devicesOf(attributes(`${A},5\n`))).toEqual({ 5: [A] });
  });

  it('come out the same however often they are read', () => {
    const text = Array.from({ length: 500 }, (_, n) => `${randomUUID()},${n % 2 ? '5' : '50'}\n`).join('');
    expect(attributes(text)).toEqual(attributes(text));
  });
});

describe('rows of an audience', () => {
  it('bring devices by event, and rows of each event', () => {
    const parsed = audience(`${A},install\n${A},install\n${B},\n${B},"install"\n`);
    expect(parsed).toMatchObject({ rows: 4, accepted: 4, pairsRead: 4, pairs: 3, eventsOverflow: false });
    expect(parsed.events).toEqual([
      { event: 'install', rows: 3 },
      { event: '', rows: 1 },
    ]);
    expect(devicesOf(parsed)).toEqual({ install: [A, B], '': [B] });
  });

  it.each([
    ['one column', `${B}`, 1],
    ['three columns', `${B},a,b`, 3],
    ['three columns, the last empty', `${B},a,`, 3],
    ['one column that is no identifier', 'junk', 1],
  ])('fail their file with %s', (_, row, columns) => {
    const parsed = audience(`${A},x\nbad,x\n\n${row}\n${A},y\n`, 10);
    expect(parsed).toMatchObject({ rows: 2, accepted: 1, pairsRead: 0, pairs: 0, slots: [], events: [] });
    expect(parsed.failure).toMatchObject({ code: 'column_count', line: 13 });
    expect(parsed.failure?.message).toContain(`${columns} column`);
  });

  it('with bad quotes are refused before their columns are counted', () => {
    expect(audience(`${A},"x"y,z\n`)).toMatchObject({ rejected: { bad_quotes: 1 } });
  });

  it('have events of at most 256 bytes, quotes not counted', () => {
    const longest = 'é'.repeat(128);
    expect(audience(`${A},${longest}\n${A},"${longest}"\n`)).toMatchObject({ accepted: 2 });
    expect(audience(`${A},"${'""'.repeat(256)}"\n`)).toMatchObject({ accepted: 1 });
    expect(audience(`${A},${longest}e\n`).rejected).toEqual({ event_too_long: 1 });
  });

  it('count as one event when the batch has more than 1,000', () => {
    const rows = (events: number) =>
      Array.from({ length: events }, (_, n) => `${n % 2 ? A : B},event ${n}\n`).join('');
    const atLimit = audience(rows(1_000));
    expect(atLimit).toMatchObject({ eventsOverflow: false, pairs: 1_000 });
    expect(atLimit.events).toHaveLength(1_000);
    const over = audience(`${rows(1_001)}x,y\n`);
    expect(over).toMatchObject({
      eventsOverflow: true,
      rows: 1_002,
      accepted: 1_001,
      pairsRead: 1_001,
      pairs: 2,
    });
    expect(over.events).toEqual([{ event: OTHER_EVENTS, rows: 1_001 }]);
    expect(devicesOf(over)).toEqual({ [OTHER_EVENTS]: [A, B] });
  });
});
