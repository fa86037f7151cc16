/** Streams long responses from the database: never all in memory, and no faster than the client reads. */
import { Readable } from 'node:stream';
import type { Context } from './context.ts';

const CHUNK = 32_768;

export async function* mapEach<T, U>(items: AsyncIterable<T>, map: (item: T) => U): AsyncGenerator<U> {
  for await (const item of items) yield map(item);
}

/** `[a,b,…]` between head and tail, in chunks. */
export async function* jsonArray(
  items: AsyncIterable<unknown>,
  head = '[',
  tail = ']',
): AsyncGenerator<string> {
  let text = head;
  let first = true;
  for await (const item of items) {
    text += first ? JSON.stringify(item) : `,${JSON.stringify(item)}`;
    first = false;
    if (text.length >= CHUNK) {
      yield text;
      text = '';
    }
  }
  yield text + tail;
}

/** NDJSON: one JSON value per line. */
export async function* jsonLines(items: AsyncIterable<unknown>): AsyncGenerator<string> {
  let text = '';
  for await (const item of items) {
    text += `${JSON.stringify(item)}\n`;
    if (text.length >= CHUNK) {
      yield text;
      text = '';
    }
  }
  yield text;
}

type Chunk = string | Buffer;

async function* after(held: Chunk[], rest: AsyncGenerator<Chunk>): AsyncGenerator<Chunk> {
  yield* held;
  yield* rest;
}

/** Responses up to this size are sent in one piece, with Content-Length and ETag. */
const WHOLE = 262_144;

/** Holds the first chunks back, so that a database that does not respond still becomes a proper error response. */
export async function sendChunks(ctx: Context, type: string, chunks: AsyncGenerator<Chunk>): Promise<void> {
  const held: Chunk[] = [];
  let size = 0;
  let next = await chunks.next();
  while (!next.done) {
    held.push(next.value);
    size += next.value.length;
    if (size > WHOLE) break;
    next = await chunks.next();
  }
  ctx.status = 200;
  ctx.type = type;
  if (next.done) ctx.body = joined(held);
  else ctx.body = Readable.from(after(held, chunks), { objectMode: false });
}

const joined = (chunks: Chunk[]): Chunk =>
  chunks.some(Buffer.isBuffer)
    ? Buffer.concat(chunks.map((chunk) => Buffer.from(chunk as Buffer)))
    : chunks.join('');
