/** Answers that may be large: passed on as they come, or read line by line. */
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { printData } from '../../../pipeline/runtime/terminal.ts';
import { CommandError, exitCodes } from './exit-codes.ts';

/** Of an answer that has begun and does not end; an interrupt is told by whoever has noticed it. */
function brokenOff(error: Error): Error {
  if (error instanceof CommandError || error.name === 'AbortError') return error;
  return new CommandError(exitCodes.failed, 'unreachable', `the answer broke off: ${error.message}`, {
    cause: error,
  });
}

async function* chunksOf({ body }: Response): AsyncGenerator<Uint8Array> {
  try {
    yield* Readable.fromWeb(body as ReadableStream);
  } catch (error) {
    throw brokenOff(error as Error);
  }
}

/** As text, in chunks. */
export async function* decoded(response: Response): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const chunk of chunksOf(response)) yield decoder.decode(chunk, { stream: true });
}

/** To standard output, as fast as it is read there. */
export async function passOn(response: Response): Promise<void> {
  let last = '';
  for await (const text of decoded(response)) {
    if (text === '') continue;
    await printData(process.stdout, text);
    last = text;
  }
  if (last !== '' && !last.endsWith('\n')) await printData(process.stdout, '\n');
}

/** The values of NDJSON. Whoever stops early closes the connection. */
export async function* readLines<T>(response: Response): AsyncGenerator<T> {
  const input = Readable.from(chunksOf(response));
  try {
    for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY }))
      if (line !== '') yield JSON.parse(line) as T;
  } finally {
    input.destroy();
  }
}

export const readBody = async <T>(response: Response): Promise<T> =>
  (await response.json().catch((error: Error) => {
    throw brokenOff(error);
  })) as T;
