/** Files that are served from memory, compressed if the client takes it. */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Context } from './context.ts';
import { answerTagged } from './tag-answer.ts';

export interface StaticFile {
  readonly type: string;
  /** Weak, because it is the same for every encoding. */
  readonly etag: string;
  readonly bodies: Readonly<{ br?: Buffer; gzip: Buffer; identity: Buffer }>;
}

export const gzipped = (content: Buffer): Promise<Buffer> => promisify(gzip)(content);

/** The result of the first call, for every call. */
export function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

export function sendFile(ctx: Context, { type, etag, bodies }: StaticFile): void {
  // In our order, smallest first: browsers accept all encodings equally.
  const encodings = (['br', 'gzip'] as const).filter((name) => bodies[name]);
  const encoding = encodings.find((name) => ctx.acceptsEncodings(name)) ?? 'identity';
  ctx.vary('Accept-Encoding');
  if (encoding !== 'identity') ctx.set('Content-Encoding', encoding);
  ctx.type = type;
  ctx.body = bodies[encoding];
  answerTagged(ctx, etag);
}
