import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decode, FormatFailure } from '../../pipeline/formats/decode.ts';
import { gzip } from '../../pipeline/formats/gunzip.ts';
import { eventually } from '../support/eventually.ts';

const gunzip = (packed: AsyncIterable<Buffer>, maxRatio = 200) => decode(gzip, packed, maxRatio);

async function* inChunks(bytes: Buffer, size = bytes.length || 1): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function unpack(bytes: Buffer, size?: number, maxRatio?: number): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of gunzip(inChunks(bytes, size), maxRatio)) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

const hello = gzipSync('hello ');
const world = gzipSync('world');
const zeros = Buffer.alloc(700);
const damaged = Buffer.from(hello);
damaged[damaged.length - 6]! ^= 1;

describe.each([
  ['in one chunk', undefined],
  ['byte by byte', 1],
  ['in chunks of 26, the first member’s size', hello.length],
])('gunzip %s', (_, size) => {
  it.each([
    ['one member', hello, 'hello '],
    ['two members', Buffer.concat([hello, world]), 'hello world'],
    [
      'members without content',
      Buffer.concat([gzipSync(''), hello, gzipSync(''), world, gzipSync('')]),
      'hello world',
    ],
    ['zeros behind the last member', Buffer.concat([hello, zeros]), 'hello '],
  ])('unpacks %s', async (_name, bytes, text) => {
    expect(await unpack(bytes, size)).toBe(text);
  });

  it.each([
    ['nothing at all', Buffer.alloc(0)],
    ['the first byte alone', hello.subarray(0, 1)],
    ['a cut header', hello.subarray(0, 5)],
    ['a cut member', hello.subarray(0, hello.length - 3)],
    ['a cut second member', Buffer.concat([hello, world.subarray(0, 12)])],
    ['a second member of one byte', Buffer.concat([hello, world.subarray(0, 1)])],
    ['a wrong checksum', damaged],
    ['plain text', Buffer.from('hello hello hello')],
    ['text behind the last member', Buffer.concat([hello, Buffer.from('junk')])],
    ['text behind zeros', Buffer.concat([hello, zeros, Buffer.from('junk')])],
    ['a member behind zeros', Buffer.concat([hello, zeros, world])],
  ])('refuses %s', async (_name, bytes) => {
    await expect(unpack(bytes, size)).rejects.toMatchObject({
      name: 'FormatFailure',
      code: 'bad_gzip',
      retriable: false,
    });
  });
});

describe('gunzip', () => {
  it('gives back what was packed, however it is cut', async () => {
    const members = fc.array(fc.string({ maxLength: 2_000 }), { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(members, fc.integer({ min: 1, max: 300 }), async (texts, size) => {
        const packed = Buffer.concat(texts.map((text) => gzipSync(text)));
        expect(await unpack(packed, size)).toBe(texts.join(''));
      }),
      { numRuns: 60 },
    );
  });

  it('stops a bomb soon after the first 32 MiB', async () => {
    const bomb = gzipSync(Buffer.alloc(200 * 1024 * 1024));
    let unpacked = 0;
    const reading = (async () => {
      for await (const piece of gunzip(inChunks(bomb, 16_384))) unpacked += piece.length;
    })();
    await expect(reading).rejects.toMatchObject({ code: 'gzip_ratio' });
    expect(unpacked).toBeLessThan(34 * 1024 * 1024);
  });

  it('lets a small file repeat itself, and a large one up to the ratio', async () => {
    const zeroes = Buffer.alloc(1024 * 1024);
    expect((await unpack(gzipSync(zeroes))).length).toBe(zeroes.length);
    const large = gzipSync(Buffer.alloc(40 * 1024 * 1024));
    expect((await unpack(large, 16_384, 2_000)).length).toBe(40 * 1024 * 1024);
  });

  it('passes on the failure of its source as it is', async () => {
    const broken = new Error('connection lost');
    async function* source() {
      yield hello.subarray(0, 10);
      throw broken;
    }
    await expect(gunzip(source()).next()).rejects.toBe(broken);
  });

  it('closes its source when the reader leaves, and when the data is bad', async () => {
    let closed = 0;
    async function* endless(first: Buffer) {
      try {
        yield first;
        for (;;) yield gzipSync(Buffer.alloc(100_000, 'x'));
      } finally {
        closed++;
      }
    }
    for await (const _ of gunzip(endless(hello))) break;
    await eventually(() => closed).toBe(1);
    await expect(gunzip(endless(Buffer.from('plain'))).next()).rejects.toBeInstanceOf(FormatFailure);
    await eventually(() => closed).toBe(2);
    await expect(gunzip(endless(damaged)).next()).rejects.toBeInstanceOf(FormatFailure);
    await eventually(() => closed).toBe(3);
  });

  it('reads no further ahead than the reader', async () => {
    let fed = 0;
    async function* source() {
      for (let member = 0; member < 1_000; member++) {
        fed++;
        yield gzipSync(Buffer.alloc(256 * 1024, 'x'));
      }
    }
    const reader = gunzip(source(), 2_000);
    for (let pieces = 0; pieces < 10; pieces++) await reader.next();
    expect(fed).toBeLessThan(20);
    await reader.return();
  });
});
