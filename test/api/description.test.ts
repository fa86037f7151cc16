/** The API's description of itself is true. */
import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { REGISTRY_TYPE } from '../../api/http/registry-problem.ts';
import { problems } from '../../schemas/problems.ts';
import { waitFor } from '../support/wait-for.ts';
import { AUDIENCE, IMPORT, logLines } from './support.ts';
import { useApi, usePartner } from './use-api.ts';

const api = useApi();
const partner = usePartner(api);
// biome-ignore lint/suspicious/noExplicitAny: a JSON document that the test walks through
let document: any;
beforeAll(async () => {
  document = (await api.anonymous('GET', '/openapi.json')).json;
});

const methods = ['get', 'put', 'post', 'patch', 'delete'];
const operations = () =>
  Object.entries<Record<string, Record<string, unknown>>>(document.paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([method]) => methods.includes(method))
      .map(([method, operation]) => ({ path, method, operation })),
  );

describe('GET /', () => {
  it('says where to look, and what it says is there', async () => {
    const reply = await api.anonymous('GET', '/');
    expect(reply.status).toBe(200);
    for (const key of ['documentation', 'topics', 'console', 'openapi', 'asyncapi', 'health', 'schemas'])
      expect((await api.anonymous('GET', reply.json[key])).status).toBe(200);
  });
});

describe('/openapi.json', () => {
  it('is OpenAPI 3.1 with unique operation ids', () => {
    expect(document.openapi).toBe('3.1.0');
    const ids = operations().map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('has exactly the operations that the router answers', async () => {
    for (const { path } of operations()) {
      const concrete = path.replace(/\{\w+\}/g, '1');
      const allow = (await api.anonymous('OPTIONS', concrete)).headers.get('allow')!.split(', ');
      const described = Object.keys(document.paths[path]).filter((key) => methods.includes(key));
      const routed = allow
        .filter((method) => !['HEAD', 'OPTIONS'].includes(method))
        .map((each) => each.toLowerCase());
      expect([path, described.toSorted()]).toEqual([path, routed.toSorted()]);
    }
  });

  it('describes every error with its status and an example, and says who must authenticate', () => {
    for (const { path, method, operation } of operations()) {
      const responses = operation.responses as Record<
        string,
        { content?: Record<string, { examples?: object }> }
      >;
      const where = `${method} ${path}`;
      const isPartners = /^\/v\d/.test(path);
      expect([where, (operation.security as unknown[]).length > 0]).toEqual([where, isPartners]);
      const needed = isPartners ? ['401', '429', '500', '503'] : ['500', '503'];
      expect([where, Object.keys(responses)]).toEqual([where, expect.arrayContaining(needed)]);
      for (const [status, response] of Object.entries(responses)) {
        if (Number(status) < 400) continue;
        const [[type, { examples = {} }]] = Object.entries(response.content!) as [
          [string, { examples?: object }],
        ];
        expect(Object.keys(examples).length).toBeGreaterThan(0);
        for (const code of Object.keys(examples))
          expect([
            where,
            type === REGISTRY_TYPE
              ? code.slice(0, 3)
              : String(problems[code as keyof typeof problems].status),
          ]).toEqual([where, status]);
      }
    }
  });

  it('says the rules that join several fields', () => {
    const schema = document.components.schemas.ImportRequest;
    expect(schema.additionalProperties).toBe(false);
    expect(schema.properties.path_type).toMatchObject({ type: 'integer', enum: [0, 1], default: 0 });
    expect(JSON.stringify(schema.allOf)).toContain('"credentials"');
  });

  it('resolves all of its references', () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)];
    expect(references.length).toBeGreaterThan(0);
    for (const [, name] of references) expect(document.components.schemas).toHaveProperty(name!);
  });
});

describe('/docs', () => {
  it('needs nothing from anywhere else, and the browser is told so', async () => {
    const page = await api.anonymous('GET', '/docs');
    expect(page.headers.get('content-type')).toMatch(/^text\/html/);
    expect([...page.text.matchAll(/(?:src|href|data-url)="([^"]+)"/g)].map(([, url]) => url)).toEqual([
      'data:,',
      '/openapi.json',
      '/docs/setup.js',
      '/docs/reference.js',
    ]);
    expect(page.text).not.toMatch(/https?:/);
    const policy = page.headers.get('content-security-policy')!;
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/https?:|\*/);
    // Allowed: style attributes, which the icons in the bundle use.
    expect(policy.replace("style-src-attr 'unsafe-inline'", '')).not.toContain('unsafe');
    expect(page.headers.get('referrer-policy')).toBe('no-referrer');
    const again = await api.anonymous('GET', '/docs');
    expect(again.headers.get('content-security-policy')).not.toBe(policy);
    expect((await api.anonymous('GET', '/docs/setup.js')).text).toContain('nonce');
    const script = await api.anonymous('GET', '/docs/reference.js');
    expect(script.status).toBe(200);
    expect(script.text.length).toBeGreaterThan(1_000_000);
  });
});

describe('observability', () => {
  it('x-request-id: taken from the request if it is one, else made', async () => {
    const given = await api.anonymous('GET', '/health/live', { headers: { 'x-request-id': 'my-id.1' } });
    expect(given.headers.get('x-request-id')).toBe('my-id.1');
    const bad = await api.anonymous('GET', '/health/live', { headers: { 'x-request-id': 'a"b{c' } });
    expect(bad.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    const failed = await api.anonymous('GET', '/nowhere', { headers: { 'x-request-id': 'find-me' } });
    expect(failed.json.instance).toBe('find-me');
  });

  it('metrics are on their own port: requests by route and status, jobs queued, publish latency', async () => {
    await partner.call('POST', IMPORT, { body: { file_path: 'a', key_type: 0 } });
    await partner.call('GET', `${IMPORT}/12345`);
    const metrics = await (await fetch(`${api.service.metricsUrl}/metrics`)).text();
    expect(metrics).toMatch(
      /headrace_http_request_duration_seconds_count\{method="GET",route="\/v1\/marketplace\/import\/:import_log_id",status="404"\} [1-9]/,
    );
    expect(metrics).toMatch(/headrace_jobs_queued_total\{kind="import"\} [1-9]/);
    expect(metrics).toMatch(/headrace_publish_duration_seconds_count\{topic="jobs"\} [1-9]/);
    expect((await api.anonymous('GET', '/metrics')).status).toBe(404);
    expect((await fetch(`${api.service.metricsUrl}/${IMPORT}`)).status).toBe(404);
  });

  it('the access log has every request and no secret', async () => {
    const secret = 'S3CRET/never+logged';
    const credentials = { accessKeyId: 'AKIANEVERLOGGED', secretAccessKey: secret, region: 'eu-west-1' };
    const body = { file_path: 's3://bucket/a', key_type: 0, path_type: 1, credentials };
    const headers = { 'x-request-id': 'look-here' };
    await partner.call('POST', IMPORT, { body, headers });
    await partner.call('POST', IMPORT, { raw: `${JSON.stringify(body)}}`, headers });
    await partner.call('POST', IMPORT, { body: { ...body, extra: 1 }, headers });
    await partner.call('GET', AUDIENCE, { headers: { ...headers, 'x-user-token': 'tok.en.value' } });
    const lines = await logLines(api.service, 'look-here', 4);
    const log = await readFile(api.service.log('api'), 'utf8');
    const requests = lines.map((line) => JSON.parse(line));
    expect(requests.map(({ status }) => status)).toEqual([202, 400, 422, 401]);
    expect(requests[0]).toMatchObject({ method: 'POST', path: IMPORT, partner: partner.id });
    for (const hidden of [secret, 'AKIANEVERLOGGED', partner.key.slice(12), 'tok.en.value'])
      expect(log).not.toContain(hidden);
  });

  it('the access log names the customer', async () => {
    const token = await api.token(partner.id, 'acme');
    const headers = { 'x-request-id': 'of-a-customer', 'x-user-token': token };
    await partner.call('GET', AUDIENCE, { headers });
    const [line] = (await logLines(api.service, 'of-a-customer')) as [string];
    expect(JSON.parse(line)).toMatchObject({ partner: partner.id, customer: 'acme', status: 200 });
    expect(line).not.toContain(token);
  });

  it('health: live and ready', async () => {
    expect((await api.anonymous('GET', '/health/live')).status).toBe(200);
    const ready = await waitFor(
      async () => {
        const { status, json } = await api.anonymous('GET', '/health/ready');
        return status === 200 && json;
      },
      { what: 'both backends to answer in time' },
    );
    expect(ready).toEqual({ ready: true, checks: { kafka: true, mongodb: true } });
  });
});
