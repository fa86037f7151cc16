/** The API describes itself: an index, the OpenAPI and AsyncAPI documents, and pages of them that need no other server. */
import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { send } from '../http/change.ts';
import type { Handler } from '../http/context.ts';
import { contentPolicy, setPageHeaders } from '../http/page-headers.ts';
import type { Dependencies } from '../resources/shared.ts';
import { createAsyncApi } from './asyncapi/document.ts';
import { topicsPage } from './asyncapi/topics-page.ts';
import { topicsStyle } from './asyncapi/topics-style.ts';
import { docsPage, docsPolicy, docsSetup } from './docs-page.ts';
import { createOpenApi } from './openapi.ts';

/** Only the browser bundle in this package is used; the package @scalar/api-reference itself would install 230 MB of modules. */
const bundle = async () => {
  const entry = createRequire(import.meta.url).resolve('@scalar/fastify-api-reference');
  return readFile(join(dirname(entry), 'js/standalone.js'));
};

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

export function createDescription({ config, bodies }: Pick<Dependencies, 'config' | 'bodies'>) {
  // Made at the first request: they cost a fifth of a second of CPU time, which every start would pay.
  const document = once(() => JSON.stringify(createOpenApi(config, bodies)));
  const asyncApiDocument = once(() => JSON.stringify(createAsyncApi(config)));
  const topicsHtml = once(() => topicsPage(config));
  const styleHash = createHash('sha256').update(topicsStyle).digest('base64');
  const topicsPolicy = contentPolicy({ 'style-src': `'sha256-${styleHash}'`, 'img-src': 'data:' });
  let script: Promise<{ plain: Buffer; packed: Buffer }> | undefined;

  const index: Handler = (ctx) =>
    send(ctx, {
      status: 200,
      body: JSON.stringify({
        name: 'headrace',
        description: 'Data import and audience ingest',
        documentation: '/docs',
        topics: '/docs/topics',
        console: '/console/',
        openapi: '/openapi.json',
        asyncapi: '/asyncapi.json',
        health: '/health/ready',
        schemas: '/subjects',
        allows_load: config.allowLoad,
        operations: { marketplace_import: '/v1/marketplace/import', audience: '/v2/firstparty/audience' },
      }),
    });

  const openapi: Handler = (ctx) => send(ctx, { status: 200, body: document() });
  const asyncapi: Handler = (ctx) => send(ctx, { status: 200, body: asyncApiDocument() });

  const docs: Handler = (ctx) => {
    const nonce = randomBytes(16).toString('base64url');
    setPageHeaders(ctx, docsPolicy(nonce));
    ctx.set('Cache-Control', 'no-store');
    ctx.type = 'text/html';
    ctx.body = docsPage(nonce);
  };

  const docsTopics: Handler = (ctx) => {
    setPageHeaders(ctx, topicsPolicy);
    ctx.set('Cache-Control', 'no-cache');
    ctx.type = 'text/html';
    ctx.body = topicsHtml();
  };

  const docsSetupScript: Handler = (ctx) => {
    ctx.type = 'text/javascript';
    ctx.set('Cache-Control', 'no-cache');
    ctx.body = docsSetup;
  };

  const docsScript: Handler = async (ctx) => {
    script ??= bundle().then(async (plain) => ({ plain, packed: await promisify(gzip)(plain) }));
    const { plain, packed } = await script;
    ctx.type = 'text/javascript';
    ctx.set('Cache-Control', 'public, max-age=86400');
    ctx.vary('Accept-Encoding');
    const takesGzip = ctx.acceptsEncodings('gzip', 'identity') === 'gzip';
    if (takesGzip) ctx.set('Content-Encoding', 'gzip');
    ctx.body = takesGzip ? packed : plain;
  };

  return { index, openapi, asyncapi, docs, docsTopics, docsSetupScript, docsScript };
}
