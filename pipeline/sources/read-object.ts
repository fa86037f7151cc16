/**
 * Reads the bytes of an object, each exactly once and in order. The client retries a request only up to the headers; a body that breaks,
 * stalls or ends early is resumed here, from the byte reached, if the object is still the same.
 */
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { GetObjectCommand, type GetObjectCommandOutput } from '@aws-sdk/client-s3';
import type { Patience } from './patience.ts';
import type { StorageClient } from './storage-client.ts';
import { StoreUnavailable, storeFailure, toStoreError } from './store-errors.ts';

export interface ReadOptions {
  etag: string;
  size: number;
  /** First byte wanted. Default: 0. */
  from?: number;
  signal?: AbortSignal;
}

/** Storages are inconsistent about quoting ETags; here they are never quoted. */
export const plainEtag = (etag: string | undefined): string => (etag ?? '').replace(/^(W\/)?"|"$/g, '');

type Answer = Pick<GetObjectCommandOutput, 'ETag' | 'ContentRange' | 'ContentLength'> & { Body?: unknown };

export function answerOf(response: IncomingMessage): Answer {
  const { etag, 'content-range': range, 'content-length': length } = response.headers;
  return {
    ETag: etag,
    ContentRange: range,
    ContentLength: length === undefined ? undefined : Number(length),
    Body: response,
  };
}

export async function* readObject(
  client: StorageClient,
  patience: Patience,
  bucket: string,
  key: string,
  { etag, size, from = 0, signal }: ReadOptions,
): AsyncGenerator<Buffer, void, undefined> {
  const wait = patience.wait(bucket, key, signal);
  let position = from;

  const request = async (): Promise<Readable> => {
    const IfMatch = `"${etag}"`;
    const range = position > 0 ? `bytes=${position}-` : undefined;
    const response = await client.ask(async (s3, abort) => {
      const headers = { 'if-match': IfMatch, ...(range ? { range } : {}) };
      const found = await client.direct({ method: 'GET', bucket, key, headers }, abort);
      if (found) return answerOf(found);
      return s3.send(new GetObjectCommand({ Bucket: bucket, Key: key, IfMatch, Range: range }), abort);
    }, signal);
    const body = response.Body as Readable;
    // The reader sees the error; without a listener, an error between reads would end the process.
    body.on('error', () => {});
    const problem = checkAnswer(response);
    if (problem) body.destroy();
    if (problem) throw problem;
    return body;
  };

  const checkAnswer = (response: Answer): Error | undefined => {
    if (!response.ETag) return new StoreUnavailable('The response is not from an object storage.');
    if (plainEtag(response.ETag) !== etag) return storeFailure('changed', bucket, key);
    if (position > 0 && !response.ContentRange?.startsWith(`bytes ${position}-`)) {
      return new StoreUnavailable('The storage did not return the requested range.');
    }
    if (response.ContentLength !== undefined && response.ContentLength !== size - position) {
      return storeFailure('changed', bucket, key);
    }
    return undefined;
  };

  // An empty object is requested, too: it may have changed or been deleted.
  while (position < size || position === 0) {
    try {
      for await (const chunk of untilIdle(await request(), client.idleMs, signal)) {
        position += chunk.length;
        if (position > size) throw storeFailure('changed', bucket, key);
        wait.received(chunk.length);
        yield chunk;
        // Only now, because the time that the consumer took is not waiting time.
        wait.progress();
      }
      if (position === size) return;
      throw new StoreUnavailable(`The response ended at byte ${position} of ${size}.`);
    } catch (error) {
      signal?.throwIfAborted();
      await wait.again(toStoreError(error, bucket, key));
    }
  }
}

/** Fails if no byte arrives for `idleMs`. The time that the consumer takes does not count. */
async function* untilIdle(body: Readable, idleMs: number, signal?: AbortSignal): AsyncGenerator<Buffer> {
  const stop = () => body.destroy(signal?.reason);
  signal?.addEventListener('abort', stop, { once: true });
  const chunks = body[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  try {
    for (;;) {
      const stalled = () => body.destroy(new StoreUnavailable(`No byte arrived for ${idleMs} ms.`));
      const timer = setTimeout(stalled, idleMs);
      const next = await chunks.next().finally(() => clearTimeout(timer));
      if (next.done) return;
      yield next.value;
    }
  } finally {
    signal?.removeEventListener('abort', stop);
    body.destroy();
  }
}
