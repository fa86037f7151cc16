/** `headrace webhook …` and `headrace admin webhook …` against the real service. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createdWebhook, delivery, deliveryDetails, webhook } from '../../schemas/http-webhooks.ts';
import { type Api, startApiOnOwnData } from '../api/support.ts';
import { isSigned, type Receiver, startReceiver } from '../api/webhook-receiver.ts';
import { runAdmin } from '../support/run-admin.ts';
import { runHere } from '../support/run-here.ts';
import { waitFor } from '../support/wait-for.ts';
import { createTerminal, type IssuedPartner, provision, type Variables, variablesOf } from './partner.ts';

let api: Api;
let receiver: Receiver;
let issued: IssuedPartner;
let admin: Awaited<ReturnType<typeof provision>>['admin'];
let variables: Variables;
const { json, lines, failure } = createTerminal(() => variables, runHere);

beforeAll(async () => {
  api = await startApiOnOwnData({ HEADRACE_WEBHOOK_ALLOW_PRIVATE: '1' });
  receiver = await startReceiver();
  ({ issued, admin } = await provision(api.service));
  variables = variablesOf(issued, api.service.apiUrl);
});
afterAll(async () => {
  await receiver?.close();
  await api?.stop();
});

it('is added, listed, tested, sent again, rotated, disabled and removed', async () => {
  const url = `${receiver.url}/cli`;
  const added = createdWebhook.parse(await json('webhook', 'add', url, '--description', 'mine'));
  const id = String(added.webhook_id);
  expect(await failure(1, 'webhook', 'add', url)).toMatchObject({ code: 'webhook_exists' });
  expect((await json('webhook', 'list')).map((one: unknown) => webhook.parse(one))).toHaveLength(1);
  expect((await lines('webhook', 'list'))[1]).toMatch(new RegExp(`^ *${id} +active .*${url} +mine`));

  const { delivery_id } = await json('webhook', 'test', id);
  const [got] = await receiver.got('/cli', 1);
  expect(await isSigned(got!, added.secret)).toEqual([true]);
  const number = String(delivery_id);
  const delivered = await waitFor(
    async () => {
      const shown = deliveryDetails.parse(await json('webhook', 'delivery', id, number));
      return shown.status === 'delivered' ? shown : null;
    },
    { what: 'the delivery' },
  );
  expect(delivered.body).toBe(got!.body);
  expect((await lines('webhook', 'delivery', id, number)).at(-1)).toBe(got!.body);
  const listed = await json('webhook', 'deliveries', id, '--status', 'delivered');
  expect(listed.map((one: unknown) => delivery.parse(one).delivery_id)).toEqual([delivery_id]);
  expect((await lines('webhook', 'deliveries', id))[1]).toMatch(/ delivered .*webhook\.test .*answered 204/);
  expect(await json('webhook', 'redeliver', id, number)).toEqual({ delivery_id });
  expect((await receiver.got('/cli', 2))[1]!.id).toBe(got!.id);

  const rotated = await lines('webhook', 'rotate', id);
  expect(rotated.at(-1)).toMatch(/^secret +whsec_.{44} {3}\(shown only now\)$/);
  await json('webhook', 'disable', id);
  expect((await lines('webhook', 'show', id)).join('\n')).toMatch(/state +disabled/);
  await json('webhook', 'enable', id);
  expect(await failure(2, 'webhook', 'remove', id)).toMatchObject({ code: 'usage' });
  await json('webhook', 'remove', id, '--yes');
  expect(await json('webhook', 'list')).toEqual([]);
});

it('an operator lists and removes it', async () => {
  const partner = ['--partner', issued.partner_id];
  const url = `${receiver.url}/admin`;
  const { webhook_id } = await json('webhook', 'add', url);
  const listed = await admin<{ url: string }[]>('webhook', 'list', ...partner);
  expect(listed).toMatchObject([{ url, partner_id: issued.partner_id, active: true }]);
  const remove = ['webhook', 'remove', '--yes', ...partner, '--webhook', String(webhook_id)];
  await admin(...remove);
  expect(await json('webhook', 'list')).toEqual([]);
  const { code, stderr } = await runAdmin(remove, api.service.env);
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^headrace: .* has no webhook/)]);
});
