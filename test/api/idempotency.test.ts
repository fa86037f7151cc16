/** Idempotency-Key: the same key and body returns the first response, wherever the first attempt stopped. */
import { describe, expect, it } from 'vitest';
import { type AudienceDocument, collections, type IdempotencyDocument } from '../../schemas/documents.ts';
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
const jobCount = () => api.jobs.countDocuments({ partner: partner.id, phase: { $ne: 'withdrawn' } });

describe('the same key', () => {
  it('and the same body: the first answer, one job', async () => {
    const key = newKey();
    const first = await post(key);
    const before = await jobCount();
    for (let i = 0; i < 3; i++) {
      const again = await post(key, { key_type: 0, file_path: 'a.csv' });
      expect([again.status, again.json, again.headers.get('location')]).toEqual([
        202,
        first.json,
        first.headers.get('location'),
      ]);
    }
    expect(await jobCount()).toBe(before);
  });

  it('many at the same moment: one job, one answer', async () => {
    const key = newKey();
    const before = await jobCount();
    const replies = await Promise.all(Array.from({ length: 20 }, () => post(key)));
    expect(new Set(replies.map(({ text }) => text)).size).toBe(1);
    expect(replies.every(({ status }) => status === 202)).toBe(true);
    expect(await jobCount()).toBe(before + 1);
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

describe('a first try that died', () => {
  it('after the job was stored: the same job, no second one', async () => {
    const key = newKey();
    const first = await post(key);
    // As after a crash before the response was stored.
    await waitFor(async () => (await marks().findOne({ _id: `${partner.id}/${key}` }))?.answer, {
      what: 'the answer',
    });
    await marks().updateOne({ _id: `${partner.id}/${key}` }, { $unset: { answer: '' } });
    await api.jobs.updateOne({ _id: first.json.import_log_id }, { $set: { phase: 'listed' } });
    const before = await jobCount();
    const again = await post(key);
    expect([again.status, again.json]).toEqual([202, first.json]);
    expect(await jobCount()).toBe(before);
  });

  it('and whose job was withdrawn: a new job', async () => {
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
});

describe('the other methods', () => {
  it('DELETE', async () => {
    const headers = { 'idempotency-key': newKey() };
    const keys = [String(await api.attribute(partner))];
    const remove = () => partner.call('DELETE', IMPORT, { body: { key_type: 0, keys }, headers });
    const first = await remove();
    expect((await remove()).json).toEqual(first.json);
  });

  it('POST and PATCH of an audience', async () => {
    const headers = { 'idempotency-key': newKey() };
    const create = () => partner.call('POST', AUDIENCE, { body: { name: 'n', file_path: 'a' }, headers });
    const first = await create();
    const again = await create();
    expect([again.status, again.json]).toEqual([201, first.json]);
    const id = first.json.audience_id;
    const patchHeaders = { 'idempotency-key': newKey() };
    const append = () =>
      partner.call('PATCH', `${AUDIENCE}/${id}`, { body: { file_path: 'b' }, headers: patchHeaders });
    const replies = [await append(), await append()];
    expect(replies.map(({ status }) => status)).toEqual([204, 204]);
    const locations = replies.map(({ headers }) => headers.get('location'));
    expect(locations[0]).toMatch(new RegExp(`^${AUDIENCE}/${id}/loads/\\d+$`));
    expect(locations[1]).toBe(locations[0]);
    expect(await api.jobs.countDocuments({ audience: id })).toBe(2);
  });

  it('PUT: a repetition clears nothing that was appended since, even if the answer was lost', async () => {
    const id = (await partner.call('POST', AUDIENCE, { body: { name: 'n', file_path: 'a' } })).json
      .audience_id;
    const key = newKey();
    const clear = () => partner.call('PUT', `${AUDIENCE}/${id}`, { headers: { 'idempotency-key': key } });
    const generation = async () =>
      (await api.db.collection<AudienceDocument>(collections.audiences).findOne({ _id: id }))!.generation;
    expect((await clear()).status).toBe(204);
    expect(await generation()).toBe(2);
    await waitFor(async () => (await marks().findOne({ _id: `${partner.id}/${key}` }))?.answer, {
      what: 'the answer',
    });
    await marks().updateOne({ _id: `${partner.id}/${key}` }, { $unset: { answer: '' } });
    expect((await clear()).status).toBe(204);
    expect(await generation()).toBe(2);
  });

  it('marks are kept for 24 hours', async () => {
    const indexes = await marks().indexes();
    expect(indexes.find(({ name }) => name === 'expiry')).toMatchObject({
      key: { createdAt: 1 },
      expireAfterSeconds: 86_400,
    });
  });
});
