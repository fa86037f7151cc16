/** A slow client and a slow service: each request gets one response, and nothing is queued after an error. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { isFrozen } from '../support/processes.ts';
import { waitFor } from '../support/wait-for.ts';
import { secondApi } from './composition-scene.ts';
import { openRaw, rawRequest } from './raw-socket.ts';
import { AUDIENCE, IMPORT, startApiProcess } from './support.ts';
import { useApi } from './use-api.ts';

const REQUEST_MS = 27_000;
const BACKEND_MS = 15_000;
/** Above the backend limit, within the client's limit for a request. */
const SLOW_MS = BACKEND_MS + 2_000;
const api = useApi(() =>
  startApiProcess({
    HEADRACE_LIMIT_BACKEND_MS: String(BACKEND_MS),
    HEADRACE_TEST_LIMIT_REQUEST_MS: String(REQUEST_MS),
  }),
);

const body = JSON.stringify({ file_path: 'a.csv', key_type: 0 });
const headers = ['Content-Type: application/json', `Content-Length: ${body.length}`];
const jobsOf = (partner: string) => api.jobs.find({ partner }).toArray();

describe.concurrent('a body', () => {
  it('that takes longer than a backend may: accepted, one job', async () => {
    const partner = await api.partner();
    const connection = await openRaw(api.service.apiUrl);
    connection.send(rawRequest('POST', IMPORT, partner.key, headers, body.slice(0, 10)));
    await sleep(SLOW_MS);
    connection.send(body.slice(10));
    expect(await connection.closed).toMatch(/^HTTP\/1\.1 202 [\s\S]*"import_log_id":\d+/);
    expect(await jobsOf(partner.id)).toHaveLength(1);
  });

  it.each([
    ['with a length', headers, body.slice(0, 10)],
    ['in chunks', ['Content-Type: application/json', 'Transfer-Encoding: chunked'], '5\r\n{"fil\r\n'],
  ])('that does not arrive in time, %s: 408, and nothing is queued', async (_, given, part) => {
    const partner = await api.partner();
    const connection = await openRaw(api.service.apiUrl);
    const begin = performance.now();
    connection.send(rawRequest('POST', IMPORT, partner.key, given, part));
    const answer = await connection.closed;
    expect(answer).toMatch(/^HTTP\/1\.1 408 [\s\S]*X-Request-Id: [\s\S]*"code":"request_timeout"/);
    expect(performance.now() - begin).toBeGreaterThan(REQUEST_MS - 100);
    expect(await jobsOf(partner.id)).toEqual([]);
  });

  it('of a clear that does not arrive in time: 408, and nothing is cleared', async () => {
    const partner = await api.partner();
    const id = await waitFor(() => partner.createAudience(), { what: 'an audience' });
    const connection = await openRaw(api.service.apiUrl);
    connection.send(rawRequest('PUT', `${AUDIENCE}/${id}`, partner.key, ['Transfer-Encoding: chunked'], ''));
    expect(await connection.closed).toMatch(/^HTTP\/1\.1 408 /);
    const { json } = await waitFor(
      async () => {
        const reply = await partner.call('GET', `${AUDIENCE}/${id}`);
        return reply.status === 200 ? reply : undefined;
      },
      { what: 'the audience' },
    );
    expect(json.status).toBe(0);
  });
});

describe.concurrent('a process that freezes for longer than a request may take', () => {
  it('answers as it does: an error and no job, or a job', async () => {
    const partner = await api.partner();
    const { service, call } = await secondApi(api, partner.key, { FAULT_POINT: 'api:after-claim:1:stop' });
    const asked = call('POST', IMPORT, { raw: body, headers: { 'idempotency-key': 'k' } });
    await waitFor(() => isFrozen(service.api), { what: 'the API to freeze', everyMs: 10 });
    await sleep(SLOW_MS);
    service.api.signal('SIGCONT');
    const { status } = await asked;
    // Requests in flight end with the process.
    await service.api.stop();
    const jobs = (await jobsOf(partner.id)).filter(({ phase }) => phase !== 'withdrawn');
    expect([status, jobs.length]).toEqual(status === 202 ? [202, 1] : [503, 0]);
  });
});
