/** Webhooks: every end of a job is sent to partners as a signed POST, and its deliveries can be inspected. */
import { afterAll, describe, expect, it } from 'vitest';
import {
  createdWebhook,
  delivery,
  deliveryDetails,
  webhook,
  webhookEvents,
} from '../../schemas/http-webhooks.ts';
import { useService } from '../support/fixture.ts';
import { waitFor } from '../support/wait-for.ts';
import { AUDIENCE, type Call, callerOf, IMPORT, pagesOf } from './support.ts';
import { isSigned, type Received, startReceiver } from './webhook-receiver.ts';

const HOOKS = '/v1/webhooks';
const device = '8f9bb0d5-5b0c-4e2b-9c1d-2f6c1f0e7a11';
const { service, driver } = await useService({
  env: { HEADRACE_WEBHOOK_ALLOW_PRIVATE: '1', HEADRACE_TEST_WEBHOOK_TIMEOUT_MS: '60000' },
});
const receiver = await startReceiver();
afterAll(() => receiver.close());

async function newPartner() {
  const partner = await driver.partner();
  return { partner, call: await callerOf(service, driver, partner) };
}
let paths = 0;
const newPath = () => `/hook-${++paths}`;

async function register(call: Call, url: string) {
  const reply = await call('POST', HOOKS, { body: { url } });
  expect(reply.status).toBe(201);
  return { id: reply.json.webhook_id as number, secret: reply.json.secret as string };
}
/** A partner with a webhook at its own path. */
async function withWebhook() {
  const created = await newPartner();
  const path = newPath();
  return { ...created, path, ...(await register(created.call, receiver.url + path)) };
}
/** Ends with `no_files`. */
const importNothing = async (call: Call): Promise<number> =>
  (await call('POST', IMPORT, { body: { file_path: 'nothing.csv', key_type: 0 } })).json.import_log_id;

const ended = (call: Call, id: number, deliveryId: number) =>
  waitFor(
    async () => {
      const { json } = await call('GET', `${HOOKS}/${id}/deliveries/${deliveryId}`);
      return json?.status === 'pending' ? null : json;
    },
    { what: `the end of delivery ${deliveryId}` },
  );
const deliveryOf = ({ id }: Received) => Number(id.replace(/^msg_/, ''));

describe('an end', () => {
  it('of an import, a deletion and a load is told once, signed, with the record that GET returns', async () => {
    const { partner, call, path, secret } = await withWebhook();
    const attribute = await driver.attribute(partner);
    await driver.upload(partner, 'a.csv', `${device},${attribute}\nbad,${attribute}\n`);
    await driver.upload(partner, 'b.csv', `${device},visit\n`);
    const imported = (await call('POST', IMPORT, { body: { file_path: 'a.csv', key_type: 0 } })).json;
    const deleted = (await call('DELETE', IMPORT, { body: { key_type: 0, keys: [String(attribute)] } })).json;
    const created = (await call('POST', AUDIENCE, { body: { name: 'a', file_path: 'b.csv' } })).json;
    const { audience_id } = created;

    const events = await receiver.got(path, 3);
    const byType = new Map(events.map((got) => [got.event.type, got]));
    const log = async (id: number) => (await call('GET', `${IMPORT}/${id}`)).json;
    const load = (await call('GET', `${AUDIENCE}/${audience_id}/loads`)).json[0];
    expect(byType.get('import.ended')!.event.data).toEqual(await log(imported.import_log_id));
    expect(byType.get('deletion.ended')!.event.data).toEqual(await log(deleted.import_log_id));
    expect(byType.get('load.ended')!.event.data).toEqual({ audience_id, ...load });
    for (const { event } of events)
      expect(webhookEvents[event.type as keyof typeof webhookEvents].parse(event)).toMatchObject({
        timestamp: event.data.updated_at,
      });
    for (const got of events) {
      expect(await isSigned(got, secret)).toEqual([true]);
      expect(await isSigned({ ...got, body: `${got.body} ` }, secret)).toEqual([false]);
      expect(got.headers['content-type']).toBe('application/json');
    }
    expect(new Set(events.map(({ id }) => id)).size).toBe(3);
    // A later end has been delivered, so each earlier one was delivered once.
    await importNothing(call);
    await receiver.got(path, 4);
    const jobs = receiver.received.filter((got) => got.path === path).map(({ event }) => event.data);
    expect(jobs).toHaveLength(4);
    expect(new Set(jobs.map((data) => data.import_log_id ?? data.load_id)).size).toBe(4);
  });

  it('is not told to others, and not of jobs from before the registration', async () => {
    const { call } = await newPartner();
    const other = await withWebhook();
    const before = await importNothing(call);
    await driver.ended(before);
    const path = newPath();
    await register(call, receiver.url + path);
    const after = await importNothing(call);
    const otherJob = await importNothing(other.call);
    expect((await receiver.got(path, 1)).map(({ event }) => event.data.import_log_id)).toEqual([after]);
    const told = (await receiver.got(other.path, 1)).map(({ event }) => event.data.import_log_id);
    expect(told).toEqual([otherJob]);
  });

  it('is recorded in the order of jobs', async () => {
    const { call, path, id } = await withWebhook();
    const jobs: number[] = [];
    for (let i = 0; i < 5; i++) jobs.push(await importNothing(call));
    await receiver.got(path, 5);
    const records = await waitFor(
      async () => {
        const { json } = await call('GET', `${HOOKS}/${id}/deliveries`);
        return json.every(({ status }: { status: string }) => status === 'delivered') ? json : null;
      },
      { what: 'all to be delivered' },
    );
    expect(records.map((one: { job_id: number }) => one.job_id)).toEqual(jobs.toReversed());
  });
});

describe('a receiver', () => {
  it('that answers 500 gets the same event again, until it does not', async () => {
    const { call, path, id, secret } = await withWebhook();
    let failures = 2;
    receiver.answerWith((got) => (got.path === path && failures-- > 0 ? 500 : 204));
    const job = await importNothing(call);
    const attempts = await receiver.got(path, 3);
    expect(new Set(attempts.map((got) => got.id)).size).toBe(1);
    expect(new Set(attempts.map((got) => got.body)).size).toBe(1);
    for (const got of attempts) expect(await isSigned(got, secret)).toEqual([true]);
    const record = await ended(call, id, deliveryOf(attempts[0]!));
    expect(deliveryDetails.parse(record)).toMatchObject({
      job_id: job,
      status: 'delivered',
      tries: 3,
      next_attempt_at: null,
      body: attempts[0]!.body,
    });
    const codes = record.attempts.map(({ code, error }: { code: number; error: string }) => [code, error]);
    expect(codes).toEqual([
      [500, 'answered 500'],
      [500, 'answered 500'],
      [204, null],
    ]);
  });

  it('that is down gets what it missed when it is back', async () => {
    const { call } = await newPartner();
    const down = await startReceiver();
    down.setDown(true);
    const { id } = await register(call, `${down.url}/back`);
    const job = await importNothing(call);
    const [record] = await waitFor(
      async () => {
        const { json } = await call('GET', `${HOOKS}/${id}/deliveries?status=pending`);
        return json[0]?.tries > 0 ? json : null;
      },
      { what: 'a failed attempt in the log' },
    );
    expect(record.attempts[0]).toMatchObject({ code: null, error: expect.any(String) });
    expect(down.received).toEqual([]);
    down.setDown(false);
    const [got] = await down.got('/back', 1);
    expect(got!.event.data.import_log_id).toBe(job);
    await down.close();
  });

  it('that redirects is not followed', async () => {
    const { call, path, id } = await withWebhook();
    const target = newPath();
    let redirects = 1;
    receiver.answerWith((got) =>
      got.path === path && redirects-- > 0 ? { status: 302, location: receiver.url + target } : 204,
    );
    await importNothing(call);
    const [first] = await receiver.got(path, 2);
    const record = await ended(call, id, deliveryOf(first!));
    expect(record.attempts[0]).toMatchObject({ code: 302, error: 'answered 302' });
    expect(receiver.received.filter((got) => got.path === target)).toEqual([]);
  });

  it('that answers 410 is disabled, and told of later ends when it is enabled again', async () => {
    const { call, path, id } = await withWebhook();
    receiver.answerWith((got) => (got.path === path ? 410 : 204));
    await importNothing(call);
    await waitFor(async () => !(await call('GET', `${HOOKS}/${id}`)).json.active, {
      what: 'it to be disabled',
    });
    expect((await call('GET', `${HOOKS}/${id}`)).json).toMatchObject({ active: false, gone: true });
    expect((await call('POST', `${HOOKS}/${id}/test`)).json.code).toBe('webhook_disabled');
    await driver.ended(await importNothing(call));
    receiver.answerWith(204);
    expect((await call('PATCH', `${HOOKS}/${id}`, { body: { active: true } })).status).toBe(204);
    expect((await call('GET', `${HOOKS}/${id}`)).json).toMatchObject({ active: true, gone: false });
    const after = await importNothing(call);
    const [, second] = await receiver.got(path, 2);
    expect(second!.event.data.import_log_id).toBe(after);
  });

  it('that never answers holds up nobody else', async () => {
    const slow = await withWebhook();
    const quick = await withWebhook();
    receiver.answerWith((got) => (got.path === slow.path ? 'nothing' : 204));
    for (let i = 0; i < 20; i++) await importNothing(slow.call);
    await receiver.got(slow.path, 1);
    const job = await importNothing(quick.call);
    const [got] = await receiver.got(quick.path, 1);
    expect(got!.event.data.import_log_id).toBe(job);
    receiver.answerWith(204);
    expect((await slow.call('DELETE', `${HOOKS}/${slow.id}`)).status).toBe(204);
  });
});

describe('a webhook', () => {
  it('shows its secret once, also to a repeated request, and has one URL', async () => {
    const { call } = await newPartner();
    const url = receiver.url + newPath();
    const headers = { 'Idempotency-Key': 'one' };
    const first = await call('POST', HOOKS, { body: { url }, headers });
    expect(createdWebhook.parse(first.json)).toMatchObject({ url, active: true, description: null });
    expect(await call('POST', HOOKS, { body: { url }, headers })).toMatchObject({
      status: 201,
      text: first.text,
    });
    expect((await call('POST', HOOKS, { body: { url } })).json.code).toBe('webhook_exists');
    const listed = await call('GET', HOOKS);
    expect(listed.json.map((one: unknown) => webhook.parse(one))).toHaveLength(1);
    expect(listed.text).not.toContain('whsec_');
    const stored = JSON.stringify(await driver.db.collection('webhooks').find().toArray());
    expect(stored).not.toContain(first.json.secret.slice('whsec_'.length));
  });

  it('belongs to its partner', async () => {
    const owner = await withWebhook();
    const { call } = await newPartner();
    const one = `${HOOKS}/${owner.id}`;
    const tries: [string, string, object?][] = [
      ['GET', one],
      ['PATCH', one, { active: false }],
      ['DELETE', one],
      ['POST', `${one}/secret`],
      ['POST', `${one}/test`],
      ['GET', `${one}/deliveries`],
      ['GET', `${one}/deliveries/1`],
      ['POST', `${one}/deliveries/1/redeliver`],
    ];
    for (const [method, path, body] of tries)
      expect([path, (await call(method, path, body && { body })).status]).toEqual([path, 404]);
  });

  it('signs with both secrets after a rotation', async () => {
    const { call, path, id, secret } = await withWebhook();
    const rotated = (await call('POST', `${HOOKS}/${id}/secret`)).json;
    expect(createdWebhook.parse(rotated).secrets).toHaveLength(2);
    expect(rotated.secret).not.toBe(secret);
    const { delivery_id } = (await call('POST', `${HOOKS}/${id}/test`)).json;
    const [got] = await receiver.got(path, 1);
    expect(got!.id).toBe(`msg_${delivery_id}`);
    expect(webhookEvents['webhook.test'].parse(got!.event).data).toEqual({ webhook_id: id });
    expect(await isSigned(got!, rotated.secret)).toEqual([true, false]);
    expect(await isSigned(got!, secret)).toEqual([false, true]);
    // After the overlap, the old secret signs no more.
    const past = { $set: { 'secrets.1.expiresAt': new Date(0) } };
    await driver.db.collection<{ _id: number }>('webhooks').updateOne({ _id: id }, past);
    expect((await call('POST', `${HOOKS}/${id}/test`)).status).toBe(202);
    const [, second] = await receiver.got(path, 2);
    expect(await isSigned(second!, rotated.secret)).toEqual([true]);
  });

  it('is changed, and what it must not be is refused', async () => {
    const { call, id } = await withWebhook();
    const path = newPath();
    const body = { url: receiver.url + path, description: 'moved' };
    expect((await call('PATCH', `${HOOKS}/${id}`, { body })).status).toBe(204);
    expect((await call('GET', `${HOOKS}/${id}`)).json).toMatchObject(body);
    const job = await importNothing(call);
    expect((await receiver.got(path, 1))[0]!.event.data.import_log_id).toBe(job);
    for (const wrong of [{}, { url: 'ftp://a.example/' }, { url: 'nonsense' }, { uri: 'https://a.example/' }])
      expect((await call('PATCH', `${HOOKS}/${id}`, { body: wrong })).status).toBe(422);
    const bidi = { description: 'a\u202eb' };
    expect((await call('PATCH', `${HOOKS}/${id}`, { body: bidi })).status).toBe(422);
    const withPassword = { url: 'https://user:secret@a.example/' };
    const refused = await call('POST', HOOKS, { body: withPassword });
    expect(refused.json).toMatchObject({ code: 'invalid_body', errors: [{ path: 'url' }] });
  });
});

it('a URL is stored in its normal form, with nothing that a terminal would obey', async () => {
  const { call, id } = await withWebhook();
  const hostile = '/\u009b2J\u202e?a=\u001b]0;b';
  const created = await call('POST', HOOKS, { body: { url: `HTTP://EXAMPLE.com${hostile}` } });
  const normal = 'http://example.com/%C2%9B2J%E2%80%AE?a=%1B]0;b';
  expect([created.status, created.json.url]).toEqual([201, normal]);
  const again = await call('POST', HOOKS, { body: { url: normal } });
  expect([again.status, again.json.code]).toEqual([409, 'webhook_exists']);
  const body = { url: `https://a.example${hostile}` };
  expect((await call('PATCH', `${HOOKS}/${id}`, { body })).status).toBe(204);
  expect((await call('GET', `${HOOKS}/${id}`)).json.url).toBe(
    'https://a.example/%C2%9B2J%E2%80%AE?a=%1B]0;b',
  );
  const long = { url: `https://a.example/${'ü'.repeat(1_000)}` };
  expect((await call('POST', HOOKS, { body: long })).status).toBe(422);
});

it('test events are limited by partner', async () => {
  const { call, id } = await withWebhook();
  const other = await withWebhook();
  const replies = await Promise.all(Array.from({ length: 30 }, () => call('POST', `${HOOKS}/${id}/test`)));
  const refused = replies.filter(({ status }) => status === 429);
  expect(replies.filter(({ status }) => status === 202).length + refused.length).toBe(30);
  expect(refused.length).toBeGreaterThan(0);
  for (const { json, headers } of refused)
    expect([json.code, Number(headers.get('retry-after')) > 0]).toEqual(['rate_limited', true]);
  expect((await other.call('POST', `${HOOKS}/${other.id}/test`)).status).toBe(202);
});

describe('the log of deliveries', () => {
  it('comes in pages, by status, and sends an event again with the same id', async () => {
    const { call, path, id } = await withWebhook();
    for (let i = 0; i < 5; i++) await call('POST', `${HOOKS}/${id}/test`);
    const [first] = await receiver.got(path, 5);
    const list = `${HOOKS}/${id}/deliveries`;
    await waitFor(async () => (await call('GET', `${list}?status=delivered`)).json.length === 5, {
      what: 'five deliveries',
    });
    const pages = await pagesOf(call, `${list}?limit=2`);
    const seen = pages.flatMap(({ json }) => json.map((one: unknown) => delivery.parse(one).delivery_id));
    expect(seen).toEqual(seen.toSorted((a, b) => b - a));
    expect(new Set(seen).size).toBe(5);
    expect((await call('GET', `${list}?status=failed`)).json).toEqual([]);
    expect((await call('GET', `${list}?status=lost`)).status).toBe(422);

    const again = await call('POST', `${list}/${deliveryOf(first!)}/redeliver`);
    expect([again.status, again.json]).toEqual([202, { delivery_id: deliveryOf(first!) }]);
    const events = await receiver.got(path, 6);
    expect(events.at(-1)!.id).toBe(first!.id);
    expect(await ended(call, id, deliveryOf(first!))).toMatchObject({ status: 'delivered', tries: 2 });
    expect((await call('POST', `${list}/999999/redeliver`)).status).toBe(404);
  });

  it('a delivery that was pending for too long is failed, and can be sent again', async () => {
    const { call, path, id } = await withWebhook();
    receiver.answerWith((got) => (got.path === path ? 500 : 204));
    const { delivery_id } = (await call('POST', `${HOOKS}/${id}/test`)).json;
    await receiver.got(path, 1);
    const past = { $set: { giveUpAt: new Date(0) } };
    await driver.db.collection<{ _id: number }>('webhook_deliveries').updateOne({ _id: delivery_id }, past);
    expect(await ended(call, id, delivery_id)).toMatchObject({ status: 'failed', next_attempt_at: null });
    receiver.answerWith(204);
    await call('POST', `${HOOKS}/${id}/deliveries/${delivery_id}/redeliver`);
    expect(await ended(call, id, delivery_id)).toMatchObject({ status: 'delivered' });
  });

  it('is counted in the metrics', async () => {
    const metrics = await (await fetch(`${service.metricsUrl}/metrics`)).text();
    expect(metrics).toMatch(/headrace_webhook_deliveries_total\{outcome="delivered"\} [1-9]/);
    expect(metrics).toMatch(/headrace_webhook_deliveries_total\{outcome="retried"\} [1-9]/);
    expect(metrics).toMatch(/headrace_webhook_oldest_pending_seconds [0-9.]+/);
  });
});
