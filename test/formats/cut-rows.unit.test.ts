import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Cut, createRowCutter, type ResumePoint } from '../../pipeline/formats/cut-rows.ts';
import { placeOf } from '../../pipeline/formats/row-formats.ts';
import { inChunks, largeFile } from './generate-file.ts';

const COMMA = 0x2c;
const DEVICE = 'abcdef01-0000-4000-8000-0000000000ff';
const row = (event = '') => `${DEVICE},${event}\n`;

function cut(
  bytes: Buffer | string,
  batchBytes = 1_000,
  sizes: number[] = [],
  resume: ResumePoint | null = null,
): Cut[] {
  const cutter = createRowCutter(batchBytes, resume);
  const chunks = inChunks(Buffer.from(bytes), sizes);
  return [...chunks.flatMap((chunk) => cutter.push(chunk)), ...cutter.finish()];
}
/** Comparing hashes is a hundred times as fast as comparing buffers byte by byte. */
const summary = (cuts: Cut[]) =>
  cuts.map((batch) => ({ ...batch, rows: createHash('sha1').update(batch.rows).digest('hex') }));
const textOf = (cuts: Cut[]) => cuts.map(({ rows }) => rows.toString());

const batchBytes = fc.constantFrom(1_000, 3_333, 64_000, 65_536, 66_000, 150_000);
const chunkSizes = fc.array(fc.oneof(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 100_000 })), {
  minLength: 1,
  maxLength: 4,
});

describe('cutting', () => {
  it('depends on the bytes alone, not on the chunks in which they come', () => {
    let several = 0;
    fc.assert(
      fc.property(largeFile, batchBytes, chunkSizes, ({ bytes }, size, sizes) => {
        const whole = cut(bytes, size);
        if (whole.length > 2) several++;
        expect(summary(cut(bytes, size, sizes))).toEqual(summary(whole));
      }),
      { numRuns: 100 },
    );
    expect(several).toBeGreaterThan(0);
  });

  it('loses no byte and no line, and ends batches where rows end', () => {
    fc.assert(
      fc.property(largeFile, batchBytes, ({ bytes }, size) => {
        const cuts = cut(bytes, size, [65_536]);
        let end = 0;
        let lines = 0;
        let counted = 0;
        let newlines = 0;
        for (const [number, batch] of cuts.entries()) {
          expect(batch).toMatchObject({ batch: number, start: end, last: number === cuts.length - 1 });
          if (number > 0) expect(batch.first_line).toBe(lines + 1);
          end = batch.end;
          lines += batch.lines;
          if (batch.failure) break;
          expect(batch.rows.equals(bytes.subarray(batch.end - batch.rows.length, batch.end))).toBe(true);
          for (const first = batch.end - batch.rows.length; counted < first; counted++)
            if (bytes[counted] === 0x0a) newlines++;
          if (batch.rows.length > 0) expect(batch.first_line).toBe(newlines + 1);
          if (!batch.last) expect(batch.rows.at(-1)).toBe(0x0a);
          if (batch.rows.length > size) expect(cut(batch.rows, size)).toHaveLength(1);
        }
        if (cuts.at(-1)?.failure) return;
        expect(end).toBe(bytes.length);
        const text = bytes.toString('latin1').replace('\xef\xbb\xbf', '');
        expect(lines).toBe(text.split('\n').length - (text.endsWith('\n') || text === '' ? 1 : 0));
      }),
      { numRuns: 60 },
    );
  });

  it('goes on from the end of any batch with the same batches', () => {
    fc.assert(
      fc.property(largeFile, batchBytes, fc.nat(), chunkSizes, ({ bytes }, size, pick, sizes) => {
        const cuts = cut(bytes, size);
        const done = pick % cuts.length;
        if (done === 0) return;
        const resume = placeOf(cuts[done - 1]!);
        const rest = bytes.subarray(resume.end);
        expect(summary(cut(rest, size, sizes, resume))).toEqual(summary(cuts.slice(done)));
      }),
      { numRuns: 60 },
    );
  });

  it('fills a batch with as many whole rows as fit', () => {
    const rows = row().repeat(100);
    const cuts = cut(rows, 1_000);
    expect(cuts.map(({ rows }) => rows.length)).toEqual([988, 988, 988, 836]);
    expect(cut(rows, 38 * 50).map(({ rows }) => rows.length)).toEqual([1_900, 1_900]);
  });

  it('gives a row that exceeds the batch a batch of its own', () => {
    const long = row('e'.repeat(5_000));
    expect(textOf(cut(row() + long + row(), 1_000))).toEqual([row(), long, row()]);
    const quoted = row(`"${'e\n'.repeat(2_500)}"`);
    expect(textOf(cut(row() + quoted + row(), 1_000))).toEqual([row(), quoted, row()]);
  });

  it('does not end a row at a newline behind an escaped quote', () => {
    const quoted = row('"a""\nb"');
    // The last newline that fits is inside the 23rd row.
    const size = 23 * quoted.length - 1;
    expect(textOf(cut(quoted.repeat(23) + row().repeat(30), size))[0]).toBe(quoted.repeat(22));
  });

  it('does not end a row at a newline in quotes, but does after a stray quote', () => {
    const rows = [row('"two\nlines"').repeat(24), row('str"ay').repeat(20), row('"closed"ju"nk')];
    expect(cut(rows.join(''), 1_300).map(({ lines }) => lines)).toEqual([50, 19]);
  });

  it.each([
    ['nothing', '', { start: 0, end: 0, first_line: 1, lines: 0 }],
    ['a mark alone', '\ufeff', { start: 0, end: 3, first_line: 1, lines: 0 }],
    ['blank lines', '\n \r\n\t', { start: 0, end: 5, first_line: 4, lines: 3 }],
    ['a header alone', '\ufeff\nmaid\r\n', { start: 0, end: 10, first_line: 3, lines: 2 }],
    ['a header without its newline', 'maid,event', { start: 0, end: 10, first_line: 2, lines: 1 }],
  ])('of %s gives one empty batch', (_, text, span) => {
    const cuts = cut(text);
    const empty = { batch: 0, last: true, delimiter: COMMA, rows: Buffer.alloc(0), failure: null };
    expect(cuts).toEqual([{ ...empty, ...span }]);
  });

  it('drops any number of blank lines before the first row without holding them', () => {
    const blank = ' \n'.repeat(200_000);
    const [first] = cut(`${blank}maid\n${row()}`, 1_000, [10_000]);
    expect(first).toMatchObject({ batch: 0, last: true, start: 0, first_line: 200_002, lines: 200_002 });
    expect(first?.rows.toString()).toBe(row());
  });
});

describe('the head of a file', () => {
  it.each([
    [`${DEVICE},a;b|c`, ','],
    [`${DEVICE}\ta,b`, '\t'],
    [`${DEVICE};a,b`, ';'],
    [`${DEVICE}|a,b`, '|'],
    [`"${DEVICE}";5`, ';'],
    [`"a,""b|c"\t5`, '\t'],
    [DEVICE, ','],
    [`\n\n${DEVICE}|1`, '|'],
    [`device_id\n${DEVICE}|1`, ','],
  ])('shows the delimiter: %j', (text, delimiter) => {
    expect(cut(text)[0]?.delimiter).toBe(delimiter.charCodeAt(0));
  });

  it.each([
    'device_id,event',
    'Device ID;Event',
    'MAID',
    '"Idfa";"x"',
    ' gaid \tx',
    '\ufeffid,key',
    '\n\n uuid\r',
    'IFA\r',
  ])('has a header: %j', (header) => {
    expect(textOf(cut(`${header}\n${row()}`))).toEqual([row()]);
  });

  it.each(['device id here,x', 'name,x', '"id,x', 'id"', `${DEVICE},id`])('has no header: %j', (first) => {
    expect(textOf(cut(`${first}\n${row()}`)).join('')).toBe(`${first}\n${row()}`);
  });

  it('has its header on the first row only', () => {
    expect(textOf(cut(`maid\nmaid\n${row()}`))).toEqual([`maid\n${row()}`]);
  });
});

describe('a file that is no text', () => {
  const failureOf = (bytes: Buffer | string, batchBytes?: number) => cut(bytes, batchBytes).at(-1)?.failure;
  const good = row().repeat(100);

  it.each([
    ['a NUL', '\0'],
    ['a byte that is no UTF-8', Buffer.of(0xff)],
    ['half a character', Buffer.of(0xc3)],
  ])('with %s fails at its line, after the batches before it', (_, bad) => {
    const bytes = Buffer.concat([Buffer.from(good), Buffer.from(bad), Buffer.from(`\n${good}`)]);
    expect(failureOf(bytes)).toMatchObject({ code: 'not_text', line: 101 });
    const cuts = cut(bytes);
    expect(cuts.map(({ last }) => last)).toEqual([false, false, false, true]);
    expect(cuts.at(-1)).toMatchObject({ batch: 3, start: 3 * 988, end: 3 * 988, lines: 0, first_line: 79 });
  });

  it('that is gzip fails as such', () => {
    expect(failureOf(Buffer.of(0x1f, 0x8b, 8, 0))).toMatchObject({ code: 'not_text', line: 1 });
  });

  it('with a header that is no text fails', () => {
    expect(
      failureOf(Buffer.concat([Buffer.from('maid,'), Buffer.of(0xff), Buffer.from(`\n${row()}`)])),
    ).toMatchObject({
      code: 'not_text',
      line: 1,
    });
  });

  it('in UTF-16 fails', () => {
    expect(failureOf(Buffer.from(`\ufeff${good}`, 'utf16le'))).toMatchObject({ code: 'not_text', line: 1 });
  });
});

describe('a row over 64 KiB', () => {
  const line = (length: number) => 'x'.repeat(length);
  const codeOf = (text: string, batchBytes: number) => cut(text, batchBytes, [10_000]).at(-1)?.failure?.code;

  it.each([1_000, 65_536, 700_000])('fails its file, in batches of %d bytes', (batchBytes) => {
    for (const end of ['', '\n', '\r\n']) {
      expect(codeOf(row() + line(65_536) + end, batchBytes)).toBeUndefined();
      expect(codeOf(row() + line(65_537) + end, batchBytes)).toBe('line_too_long');
      expect(codeOf(row() + line(65_537) + end + row(), batchBytes)).toBe(
        end ? 'line_too_long' : 'line_too_long',
      );
      expect(codeOf(line(65_537) + end, batchBytes)).toBe('line_too_long');
    }
    const quoted = (length: number) => `${DEVICE},"${'\n'.repeat(length - 39)}"`;
    expect(codeOf(`${row()}${quoted(65_536)}\n`, batchBytes)).toBeUndefined();
    expect(codeOf(`${row()}${quoted(65_537)}\n`, batchBytes)).toBe('line_too_long');
    expect(codeOf(`${' '.repeat(65_537)}\n${row()}`, batchBytes)).toBe('line_too_long');
  });

  it('is told with its line; the rows before it are a batch', () => {
    const cuts = cut(`maid\n${row()}\n${line(70_000)}\n${row()}`, 700_000);
    expect(cuts).toMatchObject([
      { batch: 0, last: false, first_line: 2, lines: 3 },
      { batch: 1, last: true, first_line: 4, failure: { code: 'line_too_long', line: 4 } },
    ]);
  });

  it('may be a quote that is never closed', () => {
    const cuts = cut(row() + row('"open') + row().repeat(3_000), 700_000);
    expect(cuts.at(-1)?.failure).toMatchObject({ code: 'line_too_long', line: 2 });
  });

  it('is no text rather than too long when a character in it is damaged, and not for one that is cut by the limit', () => {
    expect(cut(line(70_000).replace('x', '\0'), 1_000).at(-1)?.failure?.code).toBe('not_text');
    for (let shift = 0; shift < 4; shift++) {
      const text = line(shift) + '\u{1f600}'.repeat(20_000);
      expect(cut(text, 1_000).at(-1)?.failure?.code).toBe('line_too_long');
    }
  });
});

describe('whoever reads the file', () => {
  it('can end it with a failure of its own, once', () => {
    const cutter = createRowCutter(1_000, null);
    cutter.push(Buffer.from(row().repeat(4_000)));
    const cuts = cutter.fail({ code: 'bad_gzip', message: 'cut short' });
    expect(cuts.map(({ last, failure }) => [last, failure?.code])).toEqual([
      [false, undefined],
      [true, 'bad_gzip'],
    ]);
    expect(cuts[1]!.batch).toBe(cuts[0]!.batch + 1);
    expect([
      ...cutter.push(Buffer.from(row())),
      ...cutter.finish(),
      ...cutter.fail({ code: 'changed', message: '' }),
    ]).toEqual([]);
  });
});
