/** The partner's attributes with their sizes. */
import { beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { createAttributeDeviceStore } from '../../pipeline/stores/attribute-devices.ts';
import { attribute } from '../../schemas/http-answers.ts';
import type { TestPartner } from './support.ts';
import { useApi, usePartner } from './use-api.ts';

const ATTRIBUTE = '/v1/marketplace/attribute';

const api = useApi();
const partner = usePartner(api);
let ids: number[];
beforeAll(async () => {
  const other = await api.partner();
  ids = [];
  for (const foreignKey of [undefined, 'sports', 'travel']) {
    ids.push(await api.attribute(partner, foreignKey));
    await api.attribute(other);
  }
  const [first, second] = ids as [number, number];
  const added = new Map([
    [first, 7],
    [second, 3],
  ]);
  await createAttributeDeviceStore(api.db).record([{ job: 1, partner: partner.id, added }]);
});

const list = async (query = '') => {
  const reply = await partner.call('GET', `${ATTRIBUTE}${query}`);
  expect(reply.status).toBe(200);
  return { attributes: z.array(attribute).parse(reply.json), link: reply.headers.get('link') };
};

it('lists them, newest first, with key and size; nobody else’s', async () => {
  const { attributes, link } = await list();
  expect(attributes.map((one) => [one.attribute_id, one.partner_foreign_key, one.devices])).toEqual([
    [ids[2], 'travel', 0],
    [ids[1], 'sports', 3],
    [ids[0], null, 7],
  ]);
  expect(link).toBeNull();
});

it('in pages', async () => {
  const first = await list('?limit=2');
  expect(first.attributes.map((one) => one.attribute_id)).toEqual([ids[2], ids[1]]);
  const next = /\?(.*)>; rel="next"/.exec(first.link!)![1];
  const second = await list(`?${next}`);
  expect(second.attributes.map((one) => one.attribute_id)).toEqual([ids[0]]);
  expect(second.link).toBeNull();
});

it('are public until their owner makes them private', async () => {
  const change = (call: TestPartner['call'], id: number, body: object) =>
    call('PATCH', `${ATTRIBUTE}/${id}`, { body });
  const visibilities = async () => (await list()).attributes.map((one) => one.visibility);
  expect(await visibilities()).toEqual(['public', 'public', 'public']);
  expect((await change(partner.call, ids[1]!, { visibility: 'private' })).status).toBe(204);
  expect(await visibilities()).toEqual(['public', 'private', 'public']);
  const stranger = await api.partner();
  expect((await change(stranger.call, ids[1]!, { visibility: 'public' })).status).toBe(404);
  expect((await change(partner.call, 999_999_999, { visibility: 'public' })).status).toBe(404);
  for (const body of [{}, { visibility: 'hidden' }, { visibility: 'public', name: ' ' }, { id: 1 }])
    expect((await change(partner.call, ids[1]!, body)).status).toBe(422);
  expect((await change(partner.call, ids[1]!, { visibility: 'public' })).status).toBe(204);
  expect(await visibilities()).toEqual(['public', 'public', 'public']);
});

it('are renamed by their owner', async () => {
  const rename = (call: TestPartner['call'], name: string) =>
    call('PATCH', `${ATTRIBUTE}/${ids[0]}`, { body: { name } });
  expect((await rename(partner.call, 'Sports, outdoors')).status).toBe(204);
  expect((await list()).attributes.at(-1)).toMatchObject({ attribute_id: ids[0], name: 'Sports, outdoors' });
  expect((await rename((await api.partner()).call, 'x')).status).toBe(404);
});

it('refuses what it does not know', async () => {
  for (const query of ['?limit=0', '?cursor=x', '?name=a'])
    expect((await partner.call('GET', `${ATTRIBUTE}${query}`)).status).toBe(422);
});
