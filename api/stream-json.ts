/** Long answers, written while they are read: never all in memory, and no faster than the client takes them. */
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

/** One JSON value a line. */
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

async function* after(held: string[], rest: AsyncGenerator<string>): AsyncGenerator<string> {
  yield* held;
  yield* rest;
}

/** Answers up to this size are sent whole, with their length and their tag. */
const WHOLE = 262_144;

/** Holds the beginning back, so that a database that does not answer still becomes a proper error. */
export async function sendChunks(ctx: Context, type: string, chunks: AsyncGenerator<string>): Promise<void> {
  const held: string[] = [];
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
  if (next.done) ctx.body = held.join('');
  else ctx.body = Readable.from(after(held, chunks), { objectMode: false });
}
