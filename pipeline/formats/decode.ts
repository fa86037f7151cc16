/** What a compression is, and how one is run: every file is guarded against unpacking to far more than it should. */
import type { FileFailureCode } from '../../schemas/codes.ts';

/** An entry of compressions.ts. */
export interface Compression {
  readonly name: string;
  /** What the names of such files end in, dot included. */
  readonly extensions: readonly string[];
  /** The bytes that every such file begins with, if there are any. */
  readonly magic: Buffer;
  /** Throws FormatFailure if the data is at fault; errors of `packed` pass through as they are. */
  decode(packed: AsyncIterable<Buffer>): AsyncIterable<Buffer>;
}

/** The file's own fault: reading it again gives the same. */
export class FormatFailure extends Error {
  override readonly name = 'FormatFailure';
  readonly retriable = false;
  readonly code: FileFailureCode;

  constructor(code: FileFailureCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Small files may repeat themselves; a bomb shows itself later. */
const RATIO_AFTER_BYTES = 32 * 1024 * 1024;

/** `maxRatio`: unpacked bytes for each packed one, beyond the first 32 MiB. */
export async function* decode(
  compression: Compression,
  packed: AsyncIterable<Buffer>,
  maxRatio: number,
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
      throw new FormatFailure('gzip_ratio', `The file unpacks to more than ${maxRatio} times its size.`);
    }
    yield piece;
  }
}
