/** kill -9 of mongod under open event streams: they stay open and miss no event. */
import { expect, it, onTestFinished } from 'vitest';
import { addressesAsEnvironment } from '../../../deploy/local/addresses.ts';
import { openEvents, untilOpen } from '../../api/event-client.ts';
import { IMPORT, startApiProcess } from '../../api/support.ts';
import { impatient } from '../../support/settings.ts';
import { waitFor } from '../../support/wait-for.ts';
import type { OwnServers } from '../support/servers.ts';

export function eventStreams(on: () => OwnServers): void {
  it('a stream goes on when MongoDB is back, and a job of the meantime is among its events', async () => {
    const servers = on();
    const api = await startApiProcess({ ...addressesAsEnvironment(servers.addresses), ...impatient });
    onTestFinished(api.stop);
    const partner = await api.partner();
    const authorization = `Bearer ${partner.key}`;
    const ask = (headers = {}) =>
      openEvents(`${api.service.apiUrl}${IMPORT}/events`, { authorization, ...headers });
    const open = (headers = {}) => untilOpen(() => ask(headers));
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
    expect((await ask()).status).toBe(503);
    await servers.revive(['mongod']);
    const after = await waitFor(post, { what: 'a job after the restart' });
    await stream.until('the job of the same stream', ({ data }) => data.import_log_id === after);
    expect(stream.events.map(({ event }) => event)).not.toContain('resync');
    expect(stream.ended).toBe(false);

    const back = await open({ 'last-event-id': seen });
    await back.until('the job, resumed', ({ data }) => data.import_log_id === after);
    expect(back.events.map(({ event }) => event)).not.toContain('resync');
    await Promise.all([stream.close(), back.close()]);
  });
}
