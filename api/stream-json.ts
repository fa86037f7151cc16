/** Long answers, written while they are read: never all in memory, and no faster than the client takes them. */
import { Readable } from 'node:stream';
import type { Context } from './context.ts';

const CHUNK = 32_768;

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

async function* after(first: string, second: string, rest: AsyncGenerator<string>): AsyncGenerator<string> {
  yield first;
  yield second;
  yield* rest;
}

/**
 * Waits for the first chunk, so that a database that does not answer still becomes a proper error, and for the second,
 * so that a short answer is sent whole with its length.
 */
export async function sendChunks(ctx: Context, type: string, chunks: AsyncGenerator<string>): Promise<void> {
  const first = await chunks.next();
  const second = first.done ? first : await chunks.next();
  ctx.status = 200;
  ctx.type = type;
  if (second.done) ctx.body = first.value ?? '';
  else ctx.body = Readable.from(after(first.value, second.value, chunks), { objectMode: false });
}
