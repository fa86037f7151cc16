/** Decompression of a file, with a limit on the compression ratio whatever the compression is. */
import type { FileFailureCode } from '../../schemas/codes.ts';

/** An entry of the registry in compressions.ts. */
export interface Compression {
  readonly name: string;
  /** With the dot, as in `.gz`. */
  readonly extensions: readonly string[];
  /** The first bytes of every such file; empty if the format has none. */
  readonly magic: Buffer;
  /** Throws FormatFailure if the data is invalid; errors of `packed` pass through unchanged. */
  decode(packed: AsyncIterable<Buffer>): AsyncIterable<Buffer>;
}

/** The content of the file is invalid: reading it again gives the same result. */
export class FormatFailure extends Error {
  override readonly name = 'FormatFailure';
  readonly retriable = false;
  readonly code: FileFailureCode;

  constructor(code: FileFailureCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Small files may be repetitive; a decompression bomb exceeds this size. */
const RATIO_AFTER_BYTES = 32 * 1024 * 1024;

const MAX_RATIO = 200;

/** `maxRatio`: decompressed bytes per compressed byte; not checked for the first 32 MiB. */
export async function* decode(
  compression: Compression,
  packed: AsyncIterable<Buffer>,
  maxRatio = MAX_RATIO,
): AsyncGenerator<Buffer, void, undefined> {
  let packedBytes = 0;
  let unpackedBytes = 0;
  async function* counted() {
    for await (const chunk of packed) {
      packedBytes += chunk.length;
      yield chunk;
    }
  }
  for await (const piece of compression.decode(counted())) {
    unpackedBytes += piece.length;
    if (unpackedBytes > RATIO_AFTER_BYTES && unpackedBytes > maxRatio * packedBytes) {
      throw new FormatFailure('gzip_ratio', `The file decompresses to more than ${maxRatio} times its size.`);
    }
    yield piece;
  }
}
