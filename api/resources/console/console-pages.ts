/** Serves the console: one page for all of its addresses, and that page's assets. */

import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import type { Context, Handler } from '../../http/context.ts';
import { contentPolicy, setPageHeaders } from '../../http/page-headers.ts';
import { notFound } from '../../http/problem.ts';
import { once, type StaticFile, sendFile } from '../../http/static-file.ts';

interface ConsoleFiles {
  readonly page: StaticFile;
  readonly assets: ReadonlyMap<string, StaticFile>;
}

async function readConsoleFile(url: URL): Promise<StaticFile> {
  const [identity, br, gzip] = await Promise.all([
    readFile(url),
    readFile(new URL(`${url}.br`)),
    readFile(new URL(`${url}.gz`)),
  ]);
  return {
    type: extname(url.pathname),
    etag: `W/"${createHash('sha256').update(identity).digest('base64url').slice(0, 22)}"`,
    bodies: { br, gzip, identity },
  };
}

const notBuilt = (cause: unknown) =>
  new Error('the console is not built: run the API with deploy/headrace.mjs, which compiles it', { cause });

export async function readConsoleFiles(
  directory = new URL('./console/', import.meta.url),
): Promise<ConsoleFiles> {
  try {
    const folder = new URL('assets/', directory);
    const names = (await readdir(folder)).filter((name) => !/\.(br|gz)$/.test(name));
    const read = async (name: string) => [name, await readConsoleFile(new URL(name, folder))] as const;
    return {
      page: await readConsoleFile(new URL('index.html', directory)),
      assets: new Map(await Promise.all(names.map(read))),
    };
  } catch (error) {
    throw notBuilt(error);
  }
}

const isId = (text: string | undefined) => /^[1-9][0-9]{0,15}$/.test(text ?? '');

function redirect(ctx: Context, to: string): void {
  ctx.status = 308;
  ctx.redirect(to);
}

/** Opens a session with the credential in the query, and redirects to the page without it. */
type OpenLink = (ctx: Context, page: string) => Promise<void>;

/** `storage`: the origin that files are uploaded to. */
export function createConsolePages(openBy: { token: OpenLink; share: OpenLink }, storage: string) {
  const policy = contentPolicy({
    'script-src': "'self'",
    'style-src': "'self'",
    'img-src': "'self' data:",
    'connect-src': `'self' ${storage}`,
  });
  const files = once(readConsoleFiles);

  const sendPage = async (ctx: Context, status: number) => {
    const { page } = await files();
    setPageHeaders(ctx, policy);
    ctx.set('Cache-Control', 'no-cache');
    ctx.status = status;
    sendFile(ctx, page);
  };

  /** The router accepts a final slash; each page has one address. */
  const page: Handler = (ctx) =>
    ctx.path.endsWith('/')
      ? redirect(ctx, ctx.path.replace(/(?<!\/)\/+$/, '') + ctx.search)
      : sendPage(ctx, 200);

  /** The page itself explains the 404. */
  const missing: Handler = (ctx) => sendPage(ctx, 404);

  const record: Handler = (ctx) => (isId(ctx.params.id) ? page(ctx) : missing(ctx));

  /** The deep link of an audience, which may carry a user token or a share link. */
  const segment: Handler = (ctx) => {
    const query = new URLSearchParams(ctx.querystring);
    const open = query.has('token') ? openBy.token : query.has('share') ? openBy.share : undefined;
    return open ? open(ctx, `/console/segments/${encodeURIComponent(ctx.params.id!)}`) : record(ctx);
  };

  const home: Handler = (ctx) => (ctx.path === '/console' ? redirect(ctx, '/console/') : sendPage(ctx, 200));

  const asset: Handler = async (ctx) => {
    const file = (await files()).assets.get(ctx.params.name!);
    if (!file) throw notFound();
    ctx.set('Cache-Control', 'public, max-age=31536000, immutable');
    ctx.set('Cross-Origin-Resource-Policy', 'same-origin');
    sendFile(ctx, file);
  };

  return { home, page, record, segment, missing, asset };
}
