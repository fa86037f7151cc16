/**
 * gzip, with one member or several. After the last member, Node's own stream accepts any data that begins with a zero byte; we
 * accept only zeros (padding to a block size).
 */
import { createGunzip, type Gunzip } from 'node:zlib';
import { type Compression, FormatFailure } from './decode.ts';

const PIECE_BYTES = 128 * 1024;
const MAGIC = Buffer.of(0x1f, 0x8b);

export const gzip: Compression = { name: 'gzip', extensions: ['.gz'], magic: MAGIC, decode: gunzip };

async function* gunzip(packed: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  const inflate = createGunzip({ chunkSize: PIECE_BYTES });
  const feeding = feed(packed, inflate).catch((error: Error) => {
    inflate.destroy(error);
    throw error;
  });
  // Awaited below. Before that, the same error comes out of `inflate`, or the reader has stopped.
  feeding.catch(() => {});
  inflate.on('error', () => {});
  try {
    yield* inflate as AsyncIterable<Buffer>;
    await feeding;
  } catch (error) {
    throw isZlibError(error) ? new FormatFailure('bad_gzip', messageOf(error), { cause: error }) : error;
  } finally {
    inflate.destroy();
  }
}

async function feed(packed: AsyncIterable<Buffer>, inflate: Gunzip): Promise<void> {
  let seen = 0;
  let padding = false;
  for await (const chunk of packed) {
    for (let at = 0; seen + at < MAGIC.length && at < chunk.length; at++) {
      if (chunk[at] !== MAGIC[seen + at]) throw new FormatFailure('bad_gzip', 'The file is not gzip.');
    }
    seen += chunk.length;
    let rest = chunk;
    if (!padding) {
      const before = inflate.bytesWritten;
      await write(inflate, chunk);
      if (inflate.destroyed && !inflate.readableEnded) return;
      rest = chunk.subarray(inflate.bytesWritten - before);
      padding = rest.length > 0;
    }
    if (rest.some((byte) => byte !== 0)) {
      throw new FormatFailure('bad_gzip', 'Other data follows the gzip data.');
    }
  }
  if (seen === 0) throw new FormatFailure('bad_gzip', 'The file is empty, so it is not gzip.');
  inflate.end();
}

/** Resolves when the chunk is consumed or the stream is closed. */
function write(inflate: Gunzip, chunk: Buffer): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      inflate.off('close', done);
      resolve();
    };
    inflate.once('close', done);
    inflate.write(chunk, done);
  });
}

const isZlibError = (error: unknown): error is Error & { code: string } =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && error.code.startsWith('Z_');

const messageOf = (error: { code: string; message: string }): string =>
  error.code === 'Z_BUF_ERROR'
    ? 'The gzip data is truncated.'
    : `The gzip data is corrupt: ${error.message}.`;
