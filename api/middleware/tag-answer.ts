/** Conditional GET: an answer carries the hash of its bytes, and whoever has these bytes already gets 304. */
import { createHash } from 'node:crypto';
import type { Context } from '../context.ts';

/** An answer that many requests share is hashed once. */
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

/** Not ctx.fresh: to it `Cache-Control: no-cache`, which fetch adds by itself and which is said to caches, means no 304 ever. */
function has(ifNoneMatch: string, tag: string): boolean {
  if (ifNoneMatch === '') return false;
  return ifNoneMatch.split(',').some((given) => {
    const known = given.trim().replace(/^W\//, '');
    return known === tag || known === '*';
  });
}

/** What is streamed has no tag: its hash would be known after its head was sent. */
export function tagAnswer(ctx: Context): void {
  const { body } = ctx;
  if (ctx.status !== 200 || !(typeof body === 'string' || Buffer.isBuffer(body))) return;
  const tag = tagOf(body);
  ctx.set('ETag', tag);
  // To be kept by the client alone, and to be asked for again each time.
  ctx.set('Cache-Control', 'private, no-cache');
  if (has(ctx.get('if-none-match'), tag)) ctx.status = 304;
}
