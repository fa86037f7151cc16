/** Every limit, set to something small. */
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitFor } from '../support/stack.ts';
import { type Api, AUDIENCE, IMPORT, startApi, type TestPartner } from './support.ts';

let api: Api;
let partner: TestPartner;
beforeAll(async () => {
  api = await startApi({
    HEADRACE_LIMIT_BODY_BYTES: '2048',
    HEADRACE_LIMIT_JSON_DEPTH: '2',
    HEADRACE_LIMIT_KEYS: '3',
    HEADRACE_LIMIT_PATH_BYTES: '10',
    HEADRACE_LIMIT_REQUEST_MS: '1500',
    HEADRACE_LIMIT_HEADERS_MS: '800',
    HEADRACE_RATE_PER_SECOND: '2',
    HEADRACE_RATE_BURST: '20',
  });
});
afterAll(() => api?.stop());

const fresh = async () => {
  partner = await api.partner();
  return partner.call;
};

describe('sizes', () => {
  it('body', async () => {
    const call = await fresh();
    const body = { file_path: 'a', key_type: 0 };
    const padded = (size: number) => JSON.stringify(body).padEnd(size, ' ');
    expect((await call('POST', IMPORT, { raw: padded(2_048) })).status).toBe(202);
    expect((await call('POST', IMPORT, { raw: padded(2_049) })).status).toBe(413);
  });

  it('JSON depth', async () => {
    const call = await fresh();
    const at = (depth: number) => `{"keys":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;
    expect((await call('DELETE', IMPORT, { raw: at(2) })).json.code).toBe('invalid_body');
    expect((await call('DELETE', IMPORT, { raw: at(3) })).json.code).toBe('too_deep');
  });

  it('keys', async () => {
    const call = await fresh();
    const ids = [];
    for (let i = 0; i < 4; i++) ids.push(String(await api.attribute(partner)));
    expect((await call('DELETE', IMPORT, { body: { key_type: 0, keys: ids.slice(1) } })).status).toBe(202);
    expect((await call('DELETE', IMPORT, { body: { key_type: 0, keys: ids } })).json.code).toBe(
      'invalid_body',
    );
  });

  it('path, in bytes', async () => {
    const call = await fresh();
    const post = (file_path: string) => call('POST', AUDIENCE, { body: { name: 'n', file_path } });
    expect((await post('ü'.repeat(5))).status).toBe(201);
    expect((await post(`${'ü'.repeat(5)}a`)).status).toBe(422);
  });
});

describe('time', () => {
  const slowly = (start: string) =>
    new Promise<{ answer: string; ms: number }>((resolve, reject) => {
      const { hostname, port } = new URL(api.service.apiUrl);
      const begin = performance.now();
      const socket = connect(Number(port), hostname, () => socket.write(start));
      let answer = '';
      socket.on('data', (chunk) => {
        answer += chunk;
      });
      socket.on('close', () => resolve({ answer, ms: performance.now() - begin }));
      socket.on('error', reject);
    });

  it('headers that do not come: 408', async () => {
    const { answer, ms } = await slowly('GET / HTTP/1.1\r\nHost: x\r\n');
    expect(answer).toMatch(/^HTTP\/1\.1 408 [\s\S]*"code":"request_timeout"/);
    expect(ms).toBeLessThan(3_000);
  });

  it('a body that does not come: the connection ends', async () => {
    await fresh();
    const { ms } = await slowly(
      `POST ${IMPORT} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${partner.key}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`,
    );
    expect(ms).toBeLessThan(4_000);
  });
});

describe('rate', () => {
  it('beyond the burst: 429 with Retry-After and RateLimit headers; another key is not held; tokens come back', async () => {
    const call = await fresh();
    const other = await api.partner();
    const replies = await Promise.all(Array.from({ length: 30 }, () => call('GET', IMPORT)));
    const refused = replies.filter(({ status }) => status === 429);
    expect(replies.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(20);
    expect(refused.length).toBeGreaterThan(0);
    for (const reply of refused) {
      expect(reply.json.code).toBe('rate_limited');
      expect(Number(reply.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      expect(reply.headers.get('ratelimit')).toMatch(/^"key";r=0;t=\d+$/);
      expect(reply.headers.get('ratelimit-policy')).toBe('"key";q=20;w=10');
      expect(reply.headers.get('ratelimit-remaining')).toBe('0');
    }
    expect((await other.call('GET', IMPORT)).status).toBe(200);
    await waitFor(async () => (await call('GET', IMPORT)).status === 200, {
      what: 'a token to come back',
      deadlineMs: 5_000,
      everyMs: 600,
    });
  });

  it('every answer tells what is left', async () => {
    const call = await fresh();
    const first = await call('GET', IMPORT);
    expect(first.headers.get('ratelimit')).toMatch(/^"key";r=19;t=\d+$/);
    expect(first.headers.get('ratelimit-policy')).toBe('"key";q=20;w=10');
  });
});
