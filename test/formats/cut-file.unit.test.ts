/** Files through the registries: a new compression or row format takes a single entry. */
import { Readable } from 'node:stream';
import { createInflateRaw, deflateRawSync, gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { compressionOf, compressions, isCompressed } from '../../pipeline/formats/compressions.ts';
import { cutFile, failFile } from '../../pipeline/formats/cut-file.ts';
import type { Cut, ResumePoint } from '../../pipeline/formats/cut-rows.ts';
import { type Compression, FormatFailure } from '../../pipeline/formats/decode.ts';
import { placeOf, type RowFormat, rowFormatOf, rowFormats } from '../../pipeline/formats/row-formats.ts';

const deflate: Compression = {
  name: 'deflate',
  extensions: ['.deflate'],
  magic: Buffer.alloc(0),
  async *decode(packed) {
    const inflate = Readable.from(packed).pipe(createInflateRaw());
    try {
      yield* inflate as AsyncIterable<Buffer>;
    } catch (cause) {
      throw new FormatFailure('bad_gzip', 'The deflate data is damaged.', { cause });
    }
  },
};

const [text] = rowFormats as [RowFormat];
/** `["<identifier>","<event>"]`, one per line. */
const jsonLines: RowFormat = {
  ...text,
  name: 'JSON lines',
  extensions: ['.jsonl'],
  parse(batch, options) {
    const rows = batch.rows.toString().trim().split('\n');
    const lines = rows.map((row) => `${(JSON.parse(row) as string[]).join('\t')}\n`);
    return text.parse({ ...batch, rows: Buffer.from(lines.join('')), delimiter: 0x09 }, options);
  },
};

const ROWS = 100;
const devices = Array.from(
  { length: ROWS },
  (_, n) => `${String(n).padStart(8, '0')}-0000-4000-8000-0000000000ff`,
);
const plain = Buffer.from(devices.map((device, n) => `${device};event ${n % 3}\n`).join(''));
const json = Buffer.from(devices.map((device, n) => `["${device}","event ${n % 3}"]\n`).join(''));
const storageGone = new Error('the storage is gone');

async function cut(path: string, stored: Buffer | Error, resume: ResumePoint | null = null): Promise<Cut[]> {
  const cuts: Cut[] = [];
  const file = { path, compressed: isCompressed(path, null), batch_bytes: 1_000 };
  const source = {
    async *open(from: number) {
      if (stored instanceof Error) throw stored;
      for (let at = from; at < stored.length; at += 300) yield stored.subarray(at, at + 300);
    },
    failureOf: (error: unknown) =>
      error === storageGone ? null : ({ code: 'changed', message: 'The file changed.' } as const),
    maxRatio: 200,
  };
  for await (const one of cutFile(file, resume, source)) cuts.push(one);
  return cuts;
}
const parse = (path: string, cuts: Cut[]) =>
  cuts.map((one) => rowFormatOf(path).parse({ ...one, layout: 'audience' }, { maxRejects: 0 }));

const known = [compressions.length, rowFormats.length] as const;
afterEach(() => {
  compressions.splice(known[0]);
  rowFormats.splice(known[1]);
});

describe('a file', () => {
  it('of a new compression and a new row format is read like any other', async () => {
    compressions.push(deflate);
    rowFormats.push(jsonLines);
    const expected = parse('a.csv', await cut('a.csv', plain));
    expect(expected.reduce((sum, { accepted }) => sum + accepted, 0)).toBe(ROWS);
    expect(parse('a.csv.deflate', await cut('a.csv.deflate', deflateRawSync(plain)))).toEqual(expected);
    for (const [path, stored] of [
      ['a.jsonl', json],
      ['a.jsonl.gz', gzipSync(json)],
      ['a.jsonl.deflate', deflateRawSync(json)],
    ] as const) {
      const parsed = parse(path, await cut(path, stored));
      expect(parsed.reduce((sum, { accepted }) => sum + accepted, 0)).toBe(ROWS);
      expect(parsed.every(({ events }) => events?.length === 3)).toBe(true);
    }
    const [failure] = await cut('b.deflate', plain);
    expect(failure).toMatchObject({ batch: 0, last: true, failure: { code: 'bad_gzip', line: null } });
  });

  it.each([
    ['a.csv', plain],
    ['a.csv.gz', gzipSync(plain)],
  ])('goes on behind any batch: %s', async (path, stored) => {
    const cuts = await cut(path, stored);
    expect(cuts.length).toBeGreaterThan(3);
    for (const [number, done] of cuts.slice(0, -1).entries())
      expect(await cut(path, stored, placeOf(done))).toEqual(cuts.slice(number + 1));
  });

  it.each(['a.csv', 'a.csv.gz'])('fails behind the batches that are done: %s', async (path) => {
    const [, second, third] = await cut('a.csv', plain);
    const { batch, start, first_line, delimiter } = third!;
    const file = { path, compressed: path.endsWith('.gz'), batch_bytes: 1_000 };
    const failure = { code: 'changed', message: 'The file changed.', line: null } as const;
    const place = { batch, start, end: start, first_line, lines: 0, delimiter };
    const failed = [{ ...place, last: true, rows: Buffer.alloc(0), failure }];
    expect(await cut(path, new Error('etag'), placeOf(second!))).toEqual(failed);
    expect(failFile(file, placeOf(second!), { code: 'changed', message: 'The file changed.' })).toEqual(
      failed,
    );
    await expect(cut(path, storageGone, placeOf(second!))).rejects.toBe(storageGone);
  });
});

describe('the compression of a file', () => {
  it.each([
    ['a.csv', null, undefined],
    ['a.csv.gz', null, 'gzip'],
    ['a.GZ', null, undefined],
    ['a.gz.csv', null, undefined],
    ['a.csv', true, 'gzip'],
    ['a.csv.gz', false, undefined],
    ['a.csv.deflate', null, 'deflate'],
    ['a.csv.deflate', true, 'deflate'],
    ['a.csv.deflate', false, undefined],
  ])('%s, when the job says %s: %s', (path, declared, name) => {
    compressions.push(deflate);
    expect(compressionOf({ path, compressed: isCompressed(path, declared) })?.name).toBe(name);
  });
});
