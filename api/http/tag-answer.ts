/** Conditional GET: the ETag is the hash of the response body; a client that sends it back gets 304. */
import { createHash } from 'node:crypto';
import type { Context } from './context.ts';

/** Hashes a body shared by many requests once. */
const known = new WeakMap<Buffer, string>();

function tagOf(body: string | Buffer): string {
  if (typeof body !== 'string') {
    const tag = known.get(body);
    if (tag !== undefined) return tag;
  }
  const tag = `"${createHash('sha1').update(body).digest('base64url')}"`;
  if (typeof body !== 'string') known.set(body, tag);
  return tag;
}

const withoutWeak = (tag: string) => tag.replace(/^W\//, '');

/** Not ctx.fresh: it never answers 304 to a request with `Cache-Control: no-cache`, which fetch adds by itself. */
function has(ifNoneMatch: string, tag: string): boolean {
  if (ifNoneMatch === '') return false;
  return ifNoneMatch.split(',').some((given) => {
    const known = withoutWeak(given.trim());
    return known === withoutWeak(tag) || known === '*';
  });
}

/** Sets the ETag, and answers 304 if the client has this version. */
export function answerTagged(ctx: Context, tag: string): void {
  ctx.set('ETag', tag);
  if (ctx.status === 200 && has(ctx.get('if-none-match'), tag)) ctx.status = 304;
}

/** A streamed response has no ETag unless its handler sets one: its hash is known only after the headers were sent. */
export function tagAnswer(ctx: Context): void {
  const { body } = ctx;
  if (ctx.res.hasHeader('ETag')) return;
  if (ctx.status !== 200 || !(typeof body === 'string' || Buffer.isBuffer(body))) return;
  // For the client's own cache only, and revalidated on every use.
  ctx.set('Cache-Control', 'private, no-cache');
  answerTagged(ctx, tagOf(body));
}
