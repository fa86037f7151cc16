/**
 * Unpacks gzip, one member or several, a bounded piece at a time. Node's own stream accepts anything behind the last member
 * that begins with a zero byte; here only zeros (the padding of tape blocks) may follow it.
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
  // Awaited below where its outcome counts; elsewhere the same error comes out of `inflate`, or nobody reads any more.
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
      throw new FormatFailure('bad_gzip', 'The gzip data is followed by something else.');
    }
  }
  if (seen === 0) throw new FormatFailure('bad_gzip', 'The file is empty, which gzip never is.');
  inflate.end();
}

/** Until the chunk is used up, or nobody will. */
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
    ? 'The gzip data is cut short.'
    : `The gzip data is damaged: ${error.message}.`;
