/** Operations that need no API key: an index, the documents and pages that describe the API, and health. */
import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import type { Publisher } from '../../pipeline/kafka/publish.ts';
import { createReadiness } from '../../pipeline/runtime/health.ts';
import type { ConfigOf } from '../../schemas/config.ts';
import { described } from '../../schemas/http-answers.ts';
import { send, sendJson } from '../http/change.ts';
import type { Handler } from '../http/context.ts';
import { type Operation, read } from '../http/operation.ts';
import { contentPolicy, setPageHeaders } from '../http/page-headers.ts';
import { Problem } from '../http/problem.ts';
import { json } from '../http/responses.ts';
import { gzipped, once, sendFile } from '../http/static-file.ts';
import { createAsyncApi } from './asyncapi/document.ts';
import { topicsPage } from './asyncapi/topics-page.ts';
import { topicsStyle } from './asyncapi/topics-style.ts';
import { docsPage, docsPolicy, docsSetup } from './docs-page.ts';

const checks = z.strictObject({ ready: z.boolean(), checks: z.record(z.string(), z.boolean()) });
const anyObject = z.record(z.string(), z.unknown());
const indexed = z.looseObject({
  name: z.string(),
  allows_load: described(
    z.boolean(),
    'Whether this is a service for tests, which `headrace load` may fill with generated data.',
    false,
  ),
});

/** Uses only the browser bundle of this package; @scalar/api-reference itself would install 230 MB of modules. */
const bundle = async () => {
  const entry = createRequire(import.meta.url).resolve('@scalar/fastify-api-reference');
  return readFile(join(dirname(entry), 'js/standalone.js'));
};

interface Backends {
  ping(): Promise<boolean>;
  publisher: Pick<Publisher, 'check'>;
}
export const readinessOf = ({ ping, publisher }: Backends) =>
  createReadiness([
    { name: 'kafka', check: () => publisher.check() },
    { name: 'mongodb', check: ping },
  ]);

/** `openApi` is called at the first request for the document. */
export function serviceOperations(
  { config, ping, publisher }: { config: ConfigOf<'api'> } & Backends,
  openApi: () => unknown,
): Operation[] {
  // Lazy: they cost 0.2 s of CPU, which every start would pay.
  const document = once(() => JSON.stringify(openApi()));
  const asyncApiDocument = once(() => JSON.stringify(createAsyncApi(config)));
  const topicsHtml = once(() => topicsPage(config));
  const styleHash = createHash('sha256').update(topicsStyle).digest('base64');
  const topicsPolicy = contentPolicy({ 'style-src': `'sha256-${styleHash}'`, 'img-src': 'data:' });
  const script = once(async () => {
    const plain = await bundle();
    const etag = `W/"${createHash('sha256').update(plain).digest('base64url')}"`;
    return { type: 'text/javascript', etag, bodies: { identity: plain, gzip: await gzipped(plain) } };
  });
  const readiness = readinessOf({ ping, publisher });

  const open = (
    path: string,
    operationId: string,
    summary: string,
    { schema = z.string() as z.ZodType, type = 'application/json' },
    handle: Handler,
  ): Operation =>
    read({
      tag: 'Service',
      access: 'public',
      path,
      operationId,
      summary,
      responses: { 200: json(schema, summary, { type }) },
      handle,
    });
  const html = { type: 'text/html' };
  const javascript = { type: 'text/javascript' };

  return [
    open('/', 'getIndex', 'Index of the API', { schema: indexed }, (ctx) =>
      sendJson(ctx, {
        name: 'headrace',
        description: 'Data import and audience ingest',
        documentation: '/docs',
        topics: '/docs/topics',
        console: '/console/',
        cli: '/cli',
        openapi: '/openapi.json',
        asyncapi: '/asyncapi.json',
        health: '/health/ready',
        schemas: '/subjects',
        allows_load: config.allowLoad,
        operations: { marketplace_import: '/v1/marketplace/import', audience: '/v2/firstparty/audience' },
      }),
    ),
    open('/openapi.json', 'getOpenApi', 'This document', { schema: anyObject }, (ctx) =>
      send(ctx, { status: 200, body: document() }),
    ),
    open('/asyncapi.json', 'getAsyncApi', 'The Kafka topics as AsyncAPI 3', { schema: anyObject }, (ctx) =>
      send(ctx, { status: 200, body: asyncApiDocument() }),
    ),
    open('/docs', 'getDocs', 'This document as a web page', html, (ctx) => {
      const nonce = randomBytes(16).toString('base64url');
      setPageHeaders(ctx, docsPolicy(nonce));
      ctx.set('Cache-Control', 'no-store');
      ctx.type = 'text/html';
      ctx.body = docsPage(nonce);
    }),
    open('/docs/topics', 'getDocsTopics', 'The Kafka topics as a web page', html, (ctx) => {
      setPageHeaders(ctx, topicsPolicy);
      ctx.set('Cache-Control', 'no-cache');
      ctx.type = 'text/html';
      ctx.body = topicsHtml();
    }),
    open('/docs/setup.js', 'getDocsSetup', 'The settings of that page', javascript, (ctx) => {
      ctx.type = 'text/javascript';
      ctx.set('Cache-Control', 'no-cache');
      ctx.body = docsSetup;
    }),
    open('/docs/reference.js', 'getDocsScript', 'The script of that page', javascript, async (ctx) => {
      ctx.set('Cache-Control', 'public, max-age=86400');
      sendFile(ctx, await script());
    }),
    open(
      '/health/live',
      'getLive',
      'Liveness: the process is running',
      { schema: z.strictObject({ live: z.boolean() }) },
      (ctx) => sendJson(ctx, { live: true }),
    ),
    open(
      '/health/ready',
      'getReady',
      'Readiness: Kafka and MongoDB respond',
      { schema: checks },
      async (ctx) => {
        const state = await readiness();
        if (!state.ready)
          throw new Problem('unavailable', 'Not ready: a backend does not respond.', {
            headers: { 'Retry-After': '2' },
            members: { ...state },
            // A failed probe is not a failed request.
            isLogged: false,
          });
        sendJson(ctx, state);
      },
    ),
  ];
}
