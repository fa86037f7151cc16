/** A production service never sends to a private address, whatever its name, and registers none. */
import { type AddressInfo, createServer } from 'node:net';
import { expect, it } from 'vitest';
import { createWebhookStore, newWebhookSecret, sealWebhookSecret } from '../../api/stores/webhooks.ts';
import { startApiOnOwnData } from './support.ts';
import { useApi, usePartner } from './use-api.ts';
import { attempted } from './webhook-receiver.ts';

const api = useApi(() => startApiOnOwnData({ HEADRACE_TEST_WEBHOOK_TIMEOUT_MS: '60000' }));
const partner = usePartner(api);

it('a private URL is refused when it is registered', async () => {
  for (const url of ['https://127.0.0.1/', 'https://[::ffff:a00:1]/', 'http://hooks.acme.example/']) {
    const { status, json } = await partner.call('POST', '/v1/webhooks', { body: { url } });
    expect([url, status, json.errors[0].path]).toEqual([url, 422, 'url']);
  }
});

it('a name with a private address is refused when it is resolved; nobody is connected to', async () => {
  let connections = 0;
  const server = createServer(() => connections++);
  await new Promise<void>((resolve) => server.listen(0, resolve));
  const { port } = server.address() as AddressInfo;
  // A name passes at registration: its address can change at any time.
  const body = { url: `https://localhost:${port}/` };
  const { status, json } = await partner.call('POST', '/v1/webhooks', { body });
  expect(status).toBe(201);
  const path = `/v1/webhooks/${json.webhook_id}`;
  const { delivery_id } = (await partner.call('POST', `${path}/test`)).json;
  const delivery = await attempted(partner.call, `${path}/deliveries/${delivery_id}`);
  // Not public, or unknown: that depends on the machine's name servers.
  expect(delivery.attempts[0]).toMatchObject({ code: null, error: expect.stringContaining('localhost') });
  expect(delivery.status).toBe('pending');

  // Nor to one that was stored while private addresses were allowed.
  const store = createWebhookStore(api.db);
  const owner = { _id: 1_000, partner: partner.id };
  const webhook = {
    ...owner,
    url: `http://127.0.0.1:${port}/`,
    description: null,
    isActive: true,
    since: 1,
    secrets: [sealWebhookSecret(api.config.secret, owner, newWebhookSecret())],
    createdAt: new Date(),
    updatedAt: new Date(),
  };
  await store.insert(webhook, 10);
  const stored = (await partner.call('POST', '/v1/webhooks/1000/test')).json.delivery_id;
  const refused = await attempted(partner.call, `/v1/webhooks/1000/deliveries/${stored}`);
  expect(refused.attempts[0].error).toMatch(/not public/);
  expect(connections).toBe(0);
  await new Promise((resolve) => server.close(resolve));
});
