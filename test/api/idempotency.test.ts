/** Idempotency-Key: the same key and body returns the first response, wherever the first attempt stopped. */
import { describe, expect, it } from 'vitest';
import { collections, type IdempotencyDocument } from '../../schemas/documents.ts';
import { waitFor } from '../support/wait-for.ts';
import { AUDIENCE, IMPORT } from './support.ts';
import { useApi, usePartner } from './use-api.ts';

const api = useApi();
const partner = usePartner(api);

let used = 0;
const newKey = () => `key-${used++}`;
const body = { file_path: 'a.csv', key_type: 0 };
const post = (key: string, sent: unknown = body, call = partner.call) =>
  call('POST', IMPORT, { body: sent, headers: { 'idempotency-key': key } });
const marks = () => api.db.collection<IdempotencyDocument>(collections.idempotency);

describe('the same key', () => {
  it('and the same members in another order: the first answer', async () => {
    const key = newKey();
    const { json } = await post(key);
    expect((await post(key, { key_type: 0, file_path: 'a.csv' })).json).toEqual(json);
  });

  it('and another body, path or method: 409', async () => {
    const key = newKey();
    await post(key);
    const attribute = String(await api.attribute(partner));
    const headers = { 'idempotency-key': key };
    const others = [
      await post(key, { ...body, file_path: 'b.csv' }),
      await partner.call('DELETE', IMPORT, { body: { key_type: 0, keys: [attribute] }, headers }),
      await partner.call('POST', AUDIENCE, { body: { name: 'n', file_path: 'a.csv' }, headers }),
    ];
    for (const reply of others)
      expect([reply.status, reply.json.code]).toEqual([409, 'idempotency_conflict']);
  });

  it('of another partner is another key', async () => {
    const key = newKey();
    const other = await api.partner();
    const [mine, theirs] = [await post(key), await post(key, body, other.call)];
    expect(theirs.status).toBe(202);
    expect(theirs.json).not.toEqual(mine.json);
  });

  it('of another customer of the partner is another key, too', async () => {
    const key = newKey();
    const create = async (customer?: string) => {
      const token = customer && (await api.token(partner.id, customer));
      return partner.call('POST', AUDIENCE, {
        body: { name: 'n', file_path: 'a.csv' },
        headers: { 'idempotency-key': key, ...(token ? { 'x-user-token': token } : {}) },
      });
    };
    const replies = [];
    // The last two would collide if the parts of the key were simply joined.
    for (const customer of [undefined, 'acme', 'bolt', `acme ${key}`, 'acme%20x']) {
      const first = await create(customer);
      expect([first.status, (await create(customer)).json]).toEqual([201, first.json]);
      replies.push(first.json.audience_id);
    }
    expect(new Set(replies).size).toBe(5);
  });

  it('after a refused body is free: nothing was begun', async () => {
    const key = newKey();
    expect((await post(key, { ...body, key_type: 7 })).status).toBe(422);
    expect((await post(key)).status).toBe(202);
  });

  it.each([
    ['', 400],
    ['a b', 400],
    ['x'.repeat(256), 400],
    ['x'.repeat(255), 202],
    ['{"$ne":1}', 202],
  ])('of the form %j: %i', async (key, status) => {
    expect((await post(key)).status).toBe(status);
  });
});

it('after a first try whose job was withdrawn, there is a new job', async () => {
  const key = newKey();
  const first = await post(key);
  await waitFor(async () => (await marks().findOne({ _id: `${partner.id}/${key}` }))?.answer, {
    what: 'the answer',
  });
  await marks().updateOne({ _id: `${partner.id}/${key}` }, { $unset: { answer: '' } });
  await api.jobs.updateOne({ _id: first.json.import_log_id }, { $set: { phase: 'withdrawn' } });
  const again = await post(key);
  expect(again.status).toBe(202);
  expect(again.json.import_log_id).toBeGreaterThan(first.json.import_log_id);
});

it('marks are kept for 24 hours', async () => {
  const indexes = await marks().indexes();
  expect(indexes.find(({ name }) => name === 'expiry')).toMatchObject({
    key: { createdAt: 1 },
    expireAfterSeconds: 86_400,
  });
});
