/** Event streams: only what the caller may see, immediate, resumable, and no longer than allowed. */
import { readFile } from 'node:fs/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createApiKeyStore } from '../../api/stores/api-keys.ts';
import { audience, audienceLoad, importLog } from '../../schemas/http-answers.ts';
import { waitFor } from '../support/wait-for.ts';
import { openEvents, untilOpen } from './event-client.ts';
import { openRaw, rawRequest } from './raw-socket.ts';
import { AUDIENCE, createCaller, IMPORT, startApi, startApiProcess } from './support.ts';
import { useApi, usePartner } from './use-api.ts';

const STREAMS = 6;
const V1 = '/v1/firstparty/audience';
const api = useApi(() =>
  startApiProcess({
    HEADRACE_TEST_LIMIT_STREAMS: String(STREAMS),
    HEADRACE_TEST_LIMIT_HEADERS_MS: '60000',
  }),
);
const partner = usePartner(api);

const open = (
  path: string,
  { key = partner.key, headers = {} }: { key?: string; headers?: Record<string, string> } = {},
) => openEvents(`${api.service.apiUrl}${path}/events`, { authorization: `Bearer ${key}`, ...headers });
const resume = (path: string, lastEventId: string, key = partner.key) =>
  open(path, { key, headers: { 'last-event-id': lastEventId } });
const queue = (file_path = 'a.csv', by = partner) => by.queueImport(file_path);
const create = (name = 'n', customer?: string) => partner.createAudience({ name, customer });
const change = (id: number, set: object) =>
  api.jobs.updateOne({ _id: id }, { $set: set, $currentDate: { updatedAt: true } });
const end = (id: number) => change(id, { phase: 'ended', status: 2, rows: 10 });
const tokenOf = (customer: string, expiresIn = '1h') => api.token(partner.id, customer, expiresIn);

describe('a stream', () => {
  it('of imports: each change as the REST call answers it', async () => {
    const stream = await open(IMPORT);
    expect(stream.status).toBe(200);
    expect(stream.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(stream.headers.get('cache-control')).toBe('no-store');
    expect(stream.headers.get('x-accel-buffering')).toBe('no');
    const id = await queue();
    const isOurs = ({ data }: { data: { import_log_id: number } }) => data.import_log_id === id;
    const first = await stream.until('the new job', isOurs);
    expect(first.event).toBe('import');
    expect(importLog.parse(first.data)).toMatchObject({ status: 0, file_path: 'a.csv' });
    await end(id);
    const last = await stream.until('its end', (event) => isOurs(event) && event.data.status === 2);
    expect(last.data).toEqual((await partner.call('GET', `${IMPORT}/${id}`)).json);
    expect(stream.events.every(({ event }) => event === 'import')).toBe(true);
    await stream.close();
  });

  it.each([AUDIENCE, V1])('of audiences and loads: %s', async (path) => {
    const stream = await open(path);
    const id = await create('Live');
    const created = await stream.until(
      'the audience',
      ({ event, data }) => event === 'audience' && data.audience_id === id,
    );
    expect(audience.parse(created.data)).toMatchObject({ name: 'Live', status: 0 });
    const load = await stream.until('its load', ({ event, data }) => event === 'load' && data.load_id === id);
    const { audience_id, ...record } = load.data;
    expect(audience_id).toBe(id);
    expect(audienceLoad.parse(record)).toMatchObject({ status: 0, new_devices: null });
    await end(id);
    await stream.until(
      'the end of the load',
      ({ event, data }) => event === 'load' && data.load_id === id && data.status === 2,
    );
    const done = await stream.until(
      'the end of the audience',
      ({ event, data }) => event === 'audience' && data.audience_id === id && data.status === 2,
    );
    const { file, ...shown } = (await partner.call('GET', `${path}/${id}`)).json;
    expect(done.data).toEqual(shown);
    await stream.close();
  });

  it('tells of loads that a clear has cancelled, before dispatch has touched them', async () => {
    const id = await create('To clear');
    const stream = await open(AUDIENCE);
    await partner.call('PUT', `${AUDIENCE}/${id}`);
    const load = await stream.until(
      'the load',
      ({ event, data }) => event === 'load' && data.load_id === id && data.status === 3,
    );
    expect(load.data.errors).toMatchObject([{ code: 'cancelled' }]);
    await stream.until(
      'the audience',
      ({ event, data }) => event === 'audience' && data.audience_id === id && data.status === 2,
    );
    await stream.close();
  });

  it('tells of an audience that is deleted, and of nothing else of it', async () => {
    const id = await create('To delete');
    const stream = await open(AUDIENCE);
    await partner.call('DELETE', `${AUDIENCE}/${id}`);
    const { data } = await stream.until(
      'the end',
      ({ event, data }) => event === 'deleted' && data.audience_id === id,
    );
    expect(data).toEqual({ audience_id: id });
    await end(id);
    const other = await create('Another');
    await stream.until('another', ({ event, data }) => event === 'audience' && data.audience_id === other);
    const after = stream.events.slice(stream.events.findIndex(({ event }) => event === 'deleted') + 1);
    expect(after.filter(({ event, data }) => event !== 'deleted' && data.audience_id === id)).toEqual([]);
    await stream.close();
  });

  it('shows the first load of an audience that is not there yet, to its customer too', async () => {
    const job = (await api.jobs.findOne({ _id: await create('template') }))!;
    const headers = { 'x-user-token': await tokenOf('early') };
    const streams = [await open(AUDIENCE), await open(AUDIENCE, { headers })];
    const _id = 6_000_000;
    await api.jobs.insertOne({ ...job, _id, audience: _id, customer: 'early', requestToken: 'early' });
    for (const stream of streams) {
      const isOurs = ({ event, data }: { event: string; data: { load_id: number } }) =>
        event === 'load' && data.load_id === _id;
      expect((await stream.until('the load', isOurs)).data).toMatchObject({ audience_id: _id, status: 0 });
      await stream.close();
    }
    await api.jobs.deleteOne({ _id });
  });

  it('does not show jobs that were withdrawn', async () => {
    const stream = await open(IMPORT);
    const job = (await api.jobs.findOne({ _id: await queue('template.csv') }))!;
    const _id = 5_000_000;
    await api.jobs.insertOne({ ...job, _id, requestToken: 'withdrawn', phase: 'withdrawn' });
    const after = await queue('after.csv');
    await stream.until('a later job', ({ data }) => data.import_log_id === after);
    await api.jobs.deleteOne({ _id });
    expect(stream.events.some(({ data }) => data.import_log_id === _id)).toBe(false);
    await stream.close();
  });

  it('sends a comment and its position while nothing happens, and is not taken for dead', async () => {
    // Comments come twice per silence timeout, which these settings make twelve seconds.
    const hurried = await startApi({
      HEADRACE_TEST_LIMIT_STALL_MS: '10000',
      HEADRACE_TEST_LIMIT_REQUEST_MS: '10000',
      HEADRACE_LIMIT_BACKEND_MS: '10000',
    });
    onTestFinished(() => hurried.stop());
    // A separate partner: the last change of another test may be redelivered.
    const { key } = await hurried.partner();
    const opened = () =>
      openEvents(`${hurried.service.apiUrl}${IMPORT}/events`, { authorization: `Bearer ${key}` });
    const stream = await untilOpen(opened);
    const before = stream.lastId;
    // Three times the silence timeout.
    await waitFor(() => stream.comments >= 6, { what: 'six comments' });
    expect(stream.ended).toBe(false);
    expect(stream.lastId >= before).toBe(true);
    expect(stream.events).toEqual([]);
    await stream.close();
  });
});

describe('who may see it', () => {
  it('a partner gets nothing of another, a customer nothing of another', async () => {
    const stranger = await api.partner();
    const [theirs, theirAudiences] = [
      await open(IMPORT, { key: stranger.key }),
      await open(AUDIENCE, { key: stranger.key }),
    ];
    const asOne = await open(AUDIENCE, { headers: { 'x-user-token': await tokenOf('one') } });
    const [ofTwo, ofOne] = [await create('two', 'two'), await create('one', 'one')];
    await asOne.until('its own', ({ event, data }) => event === 'audience' && data.audience_id === ofOne);
    await asOne.until('its own load', ({ event, data }) => event === 'load' && data.audience_id === ofOne);
    expect(asOne.events.some(({ data }) => data.audience_id === ofTwo)).toBe(false);
    const ours = await queue();
    const later = await queue('theirs.csv', stranger);
    await theirs.until('its own', ({ data }) => data.import_log_id === later);
    expect(theirs.events.some(({ data }) => data.import_log_id === ours)).toBe(false);
    expect(theirAudiences.events).toEqual([]);
    await Promise.all([theirs, theirAudiences, asOne].map((each) => each.close()));
  });

  it('a key that is revoked, and a token that expires, end their streams', async () => {
    const keys = createApiKeyStore(api.db);
    const { key, id } = await keys.create(api.config.secret, partner.id);
    const byKey = await open(IMPORT, { key });
    // The token must not expire before its stream opens.
    const byToken = await untilOpen(async () =>
      open(AUDIENCE, { headers: { 'x-user-token': await tokenOf('short', '10s') } }),
    );
    expect(byKey.status).toBe(200);
    await keys.revoke(id);
    await Promise.all([byKey.closed, byToken.closed]);
    expect((await open(IMPORT, { key })).status).toBe(401);
  });

  it('a session of the console reads them too, and its end is the end of its streams', async () => {
    const session = (method: string, headers: Record<string, string>, body?: object) =>
      api.anonymous(method, '/console/session', { headers: { 'x-headrace-console': '1', ...headers }, body });
    const signedIn = await session('POST', {}, { api_key: partner.key });
    const cookie = signedIn.headers.get('set-cookie')!.split(';')[0]!;
    const stream = await openEvents(`${api.service.apiUrl}${AUDIENCE}/events`, { cookie });
    expect(stream.status).toBe(200);
    const id = await create('seen in the console');
    await stream.until('the audience', ({ data }) => data.audience_id === id);
    expect((await session('DELETE', { cookie })).status).toBe(204);
    await stream.closed;
  });

  it('needs a key, and knows no parameter', async () => {
    expect((await api.anonymous('GET', `${IMPORT}/events`)).status).toBe(401);
    expect((await partner.call('GET', `${IMPORT}/events?x=1`)).status).toBe(422);
    expect((await partner.call('HEAD', `${IMPORT}/events`)).status).toBe(200);
    expect((await partner.call('POST', `${IMPORT}/events`)).status).toBe(405);
  });

  it('so many streams of a key and no more; one that is closed makes room', async () => {
    const by = await api.partner();
    const streams = [];
    for (let i = 0; i < STREAMS; i++) streams.push(await open(IMPORT, { key: by.key }));
    const refused = await open(AUDIENCE, { key: by.key });
    expect([refused.status, (await refused.problem()).code]).toEqual([429, 'too_many_streams']);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    await streams.pop()!.close();
    const again = await untilOpen(() => open(AUDIENCE, { key: by.key }));
    await Promise.all([...streams, again].map((each) => each.close()));
  });
});

describe('a client that comes back', () => {
  it('with an id that says nothing to us is told to read everything again, and gets what follows', async () => {
    for (const id of ['0', 'ffffffffffffffff', '0000000000000001', '../../etc/passwd', 'a'.repeat(5_000)]) {
      const stream = await resume(IMPORT, id);
      const first = await stream.until('the resync', () => true);
      expect([first.event, first.data]).toEqual(['resync', {}]);
      expect(first.id).toMatch(/^[0-9a-f]{16}$/);
      const job = await queue();
      await stream.until('what follows', ({ data }) => data.import_log_id === job);
      await stream.close();
    }
  });

  it('resumes at an API that was restarted, without loss; the old one did not wait for its streams', async () => {
    const by = await api.partner();
    const stream = await open(IMPORT, { key: by.key });
    const idle = await open(AUDIENCE, { key: by.key });
    const jobs = [await queue('1.csv', by), await queue('2.csv', by)];
    for (const id of jobs) await stream.until('the job', ({ data }) => data.import_log_id === id);
    const restarted = api.service.restart('api');
    await Promise.all([stream.closed, idle.closed]);
    // While no client listens.
    await end(jobs[0]!);
    await restarted;
    expect(await readFile(api.service.log('api'), 'utf8')).not.toContain('shutdown deadline passed');
    const back = await resume(IMPORT, stream.lastId, by.key);
    await back.until('the end', ({ data }) => data.import_log_id === jobs[0] && data.status === 2);
    expect(back.events.some(({ event }) => event === 'resync')).toBe(false);
    const still = await resume(AUDIENCE, idle.lastId, by.key);
    const call = createCaller(api.service.apiUrl, by.key);
    const created = await call('POST', AUDIENCE, { body: { name: 'n', file_path: 'a/' } });
    await still.until('the audience', ({ data }) => data.audience_id === created.json.audience_id);
    expect(still.events.some(({ event }) => event === 'resync')).toBe(false);
    await Promise.all([back.close(), still.close()]);
  });
});

it('a client that does not read is cut off, and the others do not wait for it', async () => {
  const by = await api.partner();
  const slow = await openRaw(api.service.apiUrl);
  slow.socket.pause();
  slow.send(rawRequest('GET', `${IMPORT}/events`, by.key, ['X-Request-Id: reads-nothing']));
  const stream = await open(IMPORT, { key: by.key });
  const job = (await api.jobs.findOne({ _id: await queue('a.csv', by) }))!;
  // A deletion with many keys is a large record.
  const keys = Array.from({ length: 900 }, () => 'k'.repeat(250));
  let rows = 0;
  const isCutOff = async () => {
    await change(job._id, { kind: 'delete', keys, rows: ++rows });
    const lines = (await readFile(api.service.log('api'), 'utf8')).split('\n');
    return lines.find((line) => line.includes('reads-nothing') && line.includes('"request"'));
  };
  const line = await waitFor(isCutOff, { what: 'the end of the slow one', everyMs: 100 });
  expect(JSON.parse(line)).toMatchObject({ status: 200, cut_off: true });
  await stream.until('the newest state', ({ data }) => data.total_rows === String(rows));
  expect(stream.ended).toBe(false);
  await stream.close();
  slow.socket.destroy();
});
