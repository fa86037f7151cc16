/** The API describes itself: an index, the OpenAPI document, and a reference page that needs no other server. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Dependencies, Handler } from '../context.ts';
import { send } from '../idempotent.ts';
import { createOpenApi } from '../openapi/document.ts';

/** Only the browser bundle in this package is used; the package @scalar/api-reference itself would install 230 MB of modules. */
const bundle = async () => {
  const entry = createRequire(import.meta.url).resolve('@scalar/fastify-api-reference');
  return readFile(join(dirname(entry), 'js/standalone.js'));
};

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>headrace API</title>
<link rel="icon" href="data:,">
<style>
.markdown table { table-layout: auto !important; }
.markdown td:first-child code { white-space: nowrap !important; }
</style>
</head>
<body>
<script id="api-reference" data-url="/openapi.json" data-configuration='${JSON.stringify({
  withDefaultFonts: false,
  authentication: { preferredSecurityScheme: 'apiKey' },
  telemetry: false,
  hideClientButton: true,
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: 'never',
})}'></script>
<script src="/docs/reference.js"></script>
</body>
</html>
`;

/** The browser enforces it: the page loads nothing from other servers and sends nothing to them. */
const policy = [
  "default-src 'none'",
  "script-src 'self' 'unsafe-eval'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

export function createDescription({ config, bodies }: Pick<Dependencies, 'config' | 'bodies'>) {
  const document = JSON.stringify(createOpenApi(config, bodies));
  let script: Promise<{ plain: Buffer; packed: Buffer }> | undefined;

  const index: Handler = (ctx) =>
    send(ctx, {
      status: 200,
      body: JSON.stringify({
        name: 'headrace',
        description: 'Data import and audience ingest',
        documentation: '/docs',
        openapi: '/openapi.json',
        health: '/health/ready',
        schemas: '/subjects',
        operations: { marketplace_import: '/v1/marketplace/import', audience: '/v2/firstparty/audience' },
      }),
    });

  const openapi: Handler = (ctx) => send(ctx, { status: 200, body: document });

  const docs: Handler = (ctx) => {
    ctx.set('Content-Security-Policy', policy);
    ctx.type = 'text/html';
    ctx.body = page;
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

  return { index, openapi, docs, docsScript };
}
