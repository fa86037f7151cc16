/** Every limit, set to a small value. */
import { describe, expect, it } from 'vitest';
import { collections, type IdempotencyDocument } from '../../schemas/documents.ts';
import { waitFor } from '../support/wait-for.ts';
import { openRaw } from './raw-socket.ts';
import { AUDIENCE, IMPORT, startApi, type TestPartner } from './support.ts';
import { useApi } from './use-api.ts';

const api = useApi(() =>
  startApi({
    HEADRACE_TEST_LIMIT_BODY_BYTES: '2048',
    HEADRACE_TEST_LIMIT_JSON_DEPTH: '2',
    HEADRACE_TEST_LIMIT_KEYS: '3',
    HEADRACE_TEST_LIMIT_PATH_BYTES: '10',
    HEADRACE_RATE_PER_SECOND: '2',
    HEADRACE_TEST_RATE_BURST_SECONDS: '10',
    HEADRACE_MAX_PENDING_JOBS: '5',
    // One comes back every 30 seconds.
    HEADRACE_TEST_WRONG_KEYS_PER_MINUTE: '2',
    HEADRACE_TEST_LIMIT_HEADERS_MS: '60000',
    HEADRACE_TRUSTED_PROXIES: '1',
  }),
);
let partner: TestPartner;

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

it('headers that do not come: 408', async () => {
  const hurried = await startApi({ HEADRACE_TEST_LIMIT_HEADERS_MS: '800' });
  const connection = await openRaw(hurried.service.apiUrl);
  connection.send('GET / HTTP/1.1\r\nHost: x\r\n');
  expect(await connection.closed).toMatch(/^HTTP\/1\.1 408 [\s\S]*"code":"request_timeout"/);
  await hurried.stop();
});

describe('rate', () => {
  it('beyond the burst: 429 with Retry-After and RateLimit headers; another key is not held; tokens come back', async () => {
    const call = await fresh();
    const other = await api.partner();
    const replies = await Promise.all(Array.from({ length: 200 }, () => call('GET', IMPORT)));
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

describe('jobs that have not ended', () => {
  const body = { file_path: 'a', key_type: 0 };
  const statuses = (replies: { status: number }[]) => replies.map(({ status }) => status).toSorted();

  it('beyond the limit: 429 with Retry-After, however many come at once; another partner is not held', async () => {
    const call = await fresh();
    const other = await api.partner();
    const keys = [String(await api.attribute(partner))];
    const replies = await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        i % 2 === 0
          ? call('POST', IMPORT, { body })
          : call('POST', AUDIENCE, { body: { name: 'n', file_path: 'a' } }),
      ),
    );
    expect(statuses(replies).filter((status) => status < 300)).toHaveLength(5);
    const refused = replies.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(7);
    for (const reply of refused) {
      expect(reply.json.code).toBe('too_many_pending');
      expect(Number(reply.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    }
    expect((await call('DELETE', IMPORT, { body: { key_type: 0, keys } })).json.code).toBe(
      'too_many_pending',
    );
    expect(await api.jobs.countDocuments({ partner: partner.id })).toBe(5);
    expect((await other.call('POST', IMPORT, { body })).status).toBe(202);
  });

  it('as one ends, the next is accepted; a clear and a repetition always are', async () => {
    const call = await fresh();
    const headers = { 'idempotency-key': 'first' };
    const first = await call('POST', AUDIENCE, { body: { name: 'n', file_path: 'a' }, headers });
    for (let i = 0; i < 4; i++) expect((await call('POST', IMPORT, { body })).status).toBe(202);
    expect((await call('POST', IMPORT, { body })).status).toBe(429);
    const again = await call('POST', AUDIENCE, { body: { name: 'n', file_path: 'a' }, headers });
    expect([again.status, again.json]).toEqual([201, first.json]);
    // As after a crash before the response was stored.
    await api.db
      .collection<IdempotencyDocument>(collections.idempotency)
      .updateOne({ _id: `${partner.id}/first` }, { $unset: { answer: '' } });
    const unkept = await call('POST', AUDIENCE, { body: { name: 'n', file_path: 'a' }, headers });
    expect([unkept.status, unkept.json]).toEqual([201, first.json]);
    const audience = `${AUDIENCE}/${first.json.audience_id}`;
    expect((await call('PATCH', audience, { body: { file_path: 'a' } })).json.code).toBe('too_many_pending');
    expect((await call('PUT', audience)).status).toBe(204);
    await api.jobs.updateOne({ partner: partner.id, kind: 'import' }, { $set: { phase: 'ended' } });
    await waitFor(async () => (await call('POST', IMPORT, { body })).status === 202, {
      what: 'a place',
      everyMs: 600,
    });
    expect((await call('POST', IMPORT, { body })).status).toBe(429);
  });
});

describe('wrong keys', () => {
  const wrong = (n: number) => `hr_wrong${String(n).padStart(3, '0')}_${'A'.repeat(43)}`;
  const ask = async (key: string, address: string) =>
    api.anonymous('GET', IMPORT, { headers: { authorization: `Bearer ${key}`, 'x-forwarded-for': address } });

  it('are limited by the client’s address, whatever it claims to be; who was good before goes on', async () => {
    await fresh();
    const unseen = await api.partner();
    expect((await ask(partner.key, '192.0.2.1')).status).toBe(200);
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, i) => ask(wrong(i), `198.51.100.${i}, 192.0.2.1`)),
    );
    const refused = replies.filter(({ status }) => status === 429);
    expect(replies.filter(({ status }) => status === 401)).toHaveLength(2);
    expect(refused).toHaveLength(18);
    for (const reply of refused) {
      expect(reply.json.code).toBe('too_many_wrong_keys');
      expect(Number(reply.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    }
    expect((await ask(partner.key, '192.0.2.1')).status).toBe(200);
    expect((await ask(unseen.key, '192.0.2.1')).status).toBe(429);
    expect((await ask(unseen.key, '192.0.2.2')).status).toBe(200);
    expect((await ask(wrong(0), '192.0.2.2')).status).toBe(401);
  });

  it('a right id with a wrong secret counts, a right key does not', async () => {
    await fresh();
    const forged = `${partner.key.slice(0, 12)}${'x'.repeat(43)}`;
    for (let i = 0; i < 10; i++) expect((await ask(partner.key, '192.0.2.3')).status).toBe(200);
    const statuses = [];
    for (let i = 0; i < 8; i++) statuses.push((await ask(forged, '192.0.2.3')).status);
    expect(statuses).toEqual([401, 401, ...Array(6).fill(429)]);
    expect((await ask(partner.key, '192.0.2.3')).status).toBe(200);
  });
});
