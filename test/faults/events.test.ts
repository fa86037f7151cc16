/** mongod killed with -9 under open event streams: they stay open, and miss nothing. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { addressesAsEnvironment } from '../../deploy/local/addresses.ts';
import { openEvents } from '../api/event-client.ts';
import { type Api, IMPORT, startApi, type TestPartner } from '../api/support.ts';
import { impatient, servers as sharedServers, waitFor } from '../support/stack.ts';
import { type OwnServers, startOwnServers } from './support/servers.ts';

let servers: OwnServers;
let api: Api;
let partner: TestPartner;
beforeAll(async () => {
  servers = await startOwnServers({ shared: { addresses: sharedServers(), own: ['mongod'] } });
  api = await startApi({ ...addressesAsEnvironment(servers.addresses), ...impatient });
  partner = await api.partner();
});
afterAll(async () => {
  await api?.stop();
  await servers?.close();
});

it('a stream goes on when MongoDB is back, and a job of the meantime is among its events', async () => {
  const authorization = `Bearer ${partner.key}`;
  const open = (headers = {}) =>
    openEvents(`${api.service.apiUrl}${IMPORT}/events`, { authorization, ...headers });
  const post = async () => {
    const { status, json } = await partner.call('POST', IMPORT, { body: { file_path: 'a', key_type: 0 } });
    return status === 202 ? (json.import_log_id as number) : undefined;
  };
  const stream = await open();
  const before = await waitFor(post, { what: 'a job' });
  await stream.until('the first job', ({ data }) => data.import_log_id === before);
  const seen = stream.lastId;

  servers.signal('mongod', 'SIGKILL');
  await waitFor(async () => (await partner.call('GET', `${IMPORT}/${before}`)).status === 503, {
    what: 'that MongoDB is missed',
  });
  expect((await open()).status).toBe(503);
  await servers.revive();
  const after = await waitFor(post, { what: 'a job after the restart' });
  await stream.until('the job of the same stream', ({ data }) => data.import_log_id === after);
  expect(stream.events.map(({ event }) => event)).not.toContain('resync');
  expect(stream.ended).toBe(false);

  const back = await open({ 'last-event-id': seen });
  await back.until('the job, resumed', ({ data }) => data.import_log_id === after);
  expect(back.events.map(({ event }) => event)).not.toContain('resync');
  await Promise.all([stream.close(), back.close()]);
});
