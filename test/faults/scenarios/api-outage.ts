/** Kafka or MongoDB is down: 503 in time, reads work where they can, and everything recovers without a restart. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { addressesAsEnvironment } from '../../../deploy/local/addresses.ts';
import {
  type Api,
  AUDIENCE,
  IMPORT,
  type Reply,
  startApiProcess,
  type TestPartner,
} from '../../api/support.ts';
import { eventually } from '../../support/eventually.ts';
import { waitFor } from '../../support/wait-for.ts';
import type { OwnServers } from '../support/servers.ts';

/** Below the timeouts of the Kafka and MongoDB clients, above the API's own limits. */
const IN_TIME_MS = 25_000;
const body = { file_path: 'a', key_type: 0 };

/** Asks again if the connection was closed or the answer came late: on a slow host both may happen now and then. */
async function expectUnavailable(ask: () => Promise<Reply>): Promise<void> {
  const reply = await waitFor(
    async () => {
      const begin = performance.now();
      const answer = await ask();
      return answer.status !== 503 || performance.now() - begin < IN_TIME_MS ? answer : undefined;
    },
    { what: 'an answer in time' },
  );
  expect([reply.status, reply.json.code]).toEqual([503, 'unavailable']);
  expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0);
}

type Server = 'kafka' | 'mongod';

export function apiOutage(servers: () => OwnServers): void {
  let api: Api;
  let partner: TestPartner;
  beforeAll(async () => {
    api = await startApiProcess({
      ...addressesAsEnvironment(servers().addresses),
      // Longer than the silence timeout: a client that waits for a backend keeps its connection.
      HEADRACE_LIMIT_BACKEND_MS: '10000',
      HEADRACE_TEST_LIMIT_REQUEST_MS: '5000',
      HEADRACE_TEST_LIMIT_STALL_MS: '1000',
    });
    partner = await api.partner();
  });
  afterAll(() => api?.stop());

  async function harm(server: Server, how: 'SIGKILL' | 'SIGSTOP'): Promise<void> {
    servers().signal(server, how);
    if (how === 'SIGSTOP') await servers().frozen(server);
  }
  async function bringBack(server: Server, how: 'SIGKILL' | 'SIGSTOP'): Promise<void> {
    if (how === 'SIGSTOP') servers().signal(server, 'SIGCONT');
    else await servers().revive([server]);
  }

  const post = () => partner.call('POST', IMPORT, { body });
  const works = () => waitFor(async () => (await post()).status === 202, { what: 'a POST that is accepted' });

  describe.each([
    ['stopped', 'SIGKILL'],
    ['frozen', 'SIGSTOP'],
  ] as const)('Kafka %s', (_, how) => {
    it('POST, PATCH and DELETE answer 503 in time and queue nothing; GET works; then all works again', async () => {
      await works();
      const create = () => partner.call('POST', AUDIENCE, { body: { name: 'n', file_path: 'a' } });
      const created = async () => {
        const { status, json } = await create();
        return status === 201 ? (json.audience_id as number) : undefined;
      };
      const audience = await waitFor(created, { what: 'an audience' });
      const keys = [String(await api.attribute(partner))];
      const visible = async () => (await partner.call('GET', IMPORT)).text;
      const before = await visible();
      await harm('kafka', how);
      let isBack = false;
      onTestFinished(() => (isBack ? undefined : bringBack('kafka', how)));
      await expectUnavailable(post);
      await Promise.all([
        expectUnavailable(post),
        expectUnavailable(() =>
          partner.call('PATCH', `${AUDIENCE}/${audience}`, { body: { file_path: 'b' } }),
        ),
        expectUnavailable(() => partner.call('DELETE', IMPORT, { body: { key_type: 0, keys } })),
        expectUnavailable(create),
      ]);
      expect((await api.anonymous('GET', '/health/ready')).status).toBe(503);
      expect((await api.anonymous('GET', '/health/live')).status).toBe(200);
      // A job may be withdrawn after its 503.
      await eventually(visible).toBe(before);
      expect((await partner.call('PUT', `${AUDIENCE}/${audience}`)).status).toBe(204);
      await bringBack('kafka', how);
      isBack = true;
      await works();
      await waitFor(async () => (await api.anonymous('GET', '/health/ready')).status === 200, {
        what: 'ready again',
      });
      const ids = (await api.jobs.find().sort({ _id: 1 }).toArray()).map(({ _id }) => _id);
      expect(ids).toEqual(ids.map((_, i) => i + 1));
    });
  });

  describe.each([
    ['stopped', 'SIGKILL'],
    ['frozen', 'SIGSTOP'],
  ] as const)('MongoDB %s', (_, how) => {
    it('everything answers 503 in time; then all works again without a restart', async () => {
      await works();
      await harm('mongod', how);
      for (const ask of [post, () => partner.call('GET', IMPORT), () => partner.call('GET', `${AUDIENCE}/1`)])
        await expectUnavailable(ask);
      expect((await api.anonymous('GET', '/health/ready')).status).toBe(503);
      expect((await api.anonymous('GET', '/health/live')).status).toBe(200);
      expect((await api.anonymous('GET', '/openapi.json')).status).toBe(200);
      await bringBack('mongod', how);
      await works();
      // Requests in flight during the outage were withdrawn or never numbered: there are no gaps.
      await waitFor(
        async () => {
          const jobs = await api.jobs.find().sort({ _id: 1 }).toArray();
          return jobs.length > 0 && jobs.every(({ _id }, i) => _id === i + 1);
        },
        { what: 'ids without gaps' },
      );
    });
  });
}
