/** Group B, row by row of the specification and of the decisions. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createAudienceStore, segmentOf } from '../../pipeline/stores/audiences.ts';
import { createNewJobs } from '../../pipeline/stores/jobs/new-jobs.ts';
import { audience, audienceDetails, audienceIds } from '../../schemas/http-answers.ts';
import { AUDIENCE, listFiles } from './support.ts';
import { useApi, usePartner } from './use-api.ts';

const api = useApi();
const partner = usePartner(api);

const good = { name: 'Summer', file_path: 'acme/summer/' };
const create = () => partner.createAudience(good);
const details = async (id: number) => (await partner.call('GET', `${AUDIENCE}/${id}`)).json;
const append = (id: number, file_path = 'more.csv') =>
  partner.call('PATCH', `${AUDIENCE}/${id}`, { body: { file_path } });

describe('create an audience', () => {
  it('answers 201 with both ids and a Location', async () => {
    const reply = await partner.call('POST', AUDIENCE, { body: good });
    expect(reply.status).toBe(201);
    const ids = audienceIds.parse(reply.json);
    expect(ids.default_warehouse_segment_id).toBe(segmentOf(ids.audience_id));
    expect(reply.headers.get('location')).toBe(`${AUDIENCE}/${ids.audience_id}`);
    const job = await api.jobs.findOne({ _id: ids.audience_id });
    expect(job).toMatchObject({
      kind: 'audience',
      audience: ids.audience_id,
      generation: 1,
      audienceName: 'Summer',
    });
  });

  it.each([
    ['no name', { file_path: 'a' }, 'name'],
    ['an empty name', { ...good, name: '' }, 'name'],
    ['a name of 257 characters', { ...good, name: 'n'.repeat(257) }, 'name'],
    ['a name with a NUL byte', { ...good, name: 'a\u0000' }, 'name'],
    ['a name with a control character above ASCII', { ...good, name: 'a\u009b2J' }, 'name'],
    ['a name that reverses what follows', { ...good, name: 'a\u202eb' }, 'name'],
    ['no file_path', { name: 'n' }, 'file_path'],
    ['an unknown field', { ...good, compressed: true }, 'compressed'],
  ])('refuses %s with 422', async (_, body, path) => {
    const reply = await partner.call('POST', AUDIENCE, { body });
    expect(reply.status).toBe(422);
    expect(reply.json.errors.map((error: { path: string }) => error.path)).toContain(path);
  });

  it('counts characters, not code units, in a name', async () => {
    for (const [length, status] of [
      [256, 201],
      [257, 422],
    ] as const) {
      const body = { ...good, name: '😀'.repeat(length) };
      expect((await partner.call('POST', AUDIENCE, { body })).status).toBe(status);
    }
  });

  it('is there even if the process died before it made the audience', async () => {
    const id = await create();
    await api.audiences.deleteOne({ _id: id });
    expect((await partner.call('GET', `${AUDIENCE}/${id}`)).json).toMatchObject({
      audience_id: id,
      status: 0,
    });
    expect((await append(id)).status).toBe(204);
  });

  it('once seen, its job can no longer be withdrawn; before, neither exists', async () => {
    const jobs = createNewJobs(api.db);
    const [withdrawn, seen] = [await create(), await create()];
    await api.audiences.deleteMany({ _id: { $in: [withdrawn, seen] } });
    const get = (id: number) => partner.call('GET', `${AUDIENCE}/${id}`);
    const withdraw = async (id: number) => jobs.withdraw([(await api.jobs.findOne({ _id: id }))!]);
    expect(await withdraw(withdrawn)).toEqual(new Set());
    expect((await get(withdrawn)).status).toBe(404);
    expect(await api.audiences.findOne({ _id: withdrawn })).toBeNull();
    expect((await get(seen)).status).toBe(200);
    expect(await withdraw(seen)).toEqual(new Set([seen]));
    expect((await get(seen)).status).toBe(200);
  });
});

describe('details', () => {
  it('give the record with `file`, counts as integers', async () => {
    const id = await create();
    const reply = await partner.call('GET', `${AUDIENCE}/${id}`);
    expect(reply.status).toBe(200);
    audienceDetails.parse(reply.json);
    expect(reply.json).toMatchObject({
      audience_id: id,
      name: 'Summer',
      status: 0,
      file: [],
      unique_devices: 0,
    });
  });

  it('show files of the frozen list only, one entry a path, the latest load’s', async () => {
    const id = await create();
    await listFiles(api, id, [
      { path: 'p-x/b.csv', status: 2, accepted: 5 },
      { path: 'p-x/a.csv', status: 3, accepted: 4 },
      { path: 'p-x/c.csv', listing: 'another-listing', _id: 'another-listing.9' },
    ]);
    await append(id);
    const second = (await api.jobs.findOne({ audience: id, _id: { $ne: id } }))!._id;
    await listFiles(api, second, [{ path: 'p-x/b.csv', status: 1, accepted: 2 }]);
    const { file, status } = await details(id);
    expect(file.map(({ s3_path, status, rows_uploaded }: never) => [s3_path, status, rows_uploaded])).toEqual(
      [
        ['p-x/a.csv', 3, 0],
        ['p-x/b.csv', 1, 2],
      ],
    );
    expect(status).toBe(1);
  });

  it('status: 1 if a load runs; else 0 if one waits; else what the finished ones came to', async () => {
    const id = await create();
    expect((await details(id)).status).toBe(0);
    await append(id);
    await api.jobs.updateOne({ _id: id }, { $set: { phase: 'decided' } });
    expect((await details(id)).status).toBe(1);
    await api.jobs.updateOne({ _id: id }, { $set: { phase: 'ended' } });
    expect((await details(id)).status).toBe(0);
    await api.jobs.updateMany({ audience: id }, { $set: { phase: 'ended' } });
    expect((await details(id)).status).toBe(2);
    await api.audiences.updateOne(
      { _id: id },
      { $set: { outcome: 3, uniqueDevices: 3, uploadedDevices: 5, matchedDevices: 1 } },
    );
    expect(await details(id)).toMatchObject({
      status: 3,
      unique_devices: 3,
      uploaded_devices: 5,
      matched_devices: 1,
    });
    const listed = (await partner.call('GET', AUDIENCE)).json.find(
      (each: { audience_id: number }) => each.audience_id === id,
    );
    expect(listed.status).toBe(3);
  });
});

describe('list', () => {
  it('of a partner without audiences: an empty array', async () => {
    expect((await (await api.partner()).call('GET', AUDIENCE)).json).toEqual([]);
  });

  it('gives all, newest first, without `file`', async () => {
    const lister = await api.partner();
    const ids: number[] = [];
    for (let i = 0; i < 5; i++) ids.push(await lister.createAudience());
    const reply = await lister.call('GET', AUDIENCE);
    expect(reply.status).toBe(200);
    z.array(audience).parse(reply.json);
    expect(reply.json.map((each: { audience_id: number }) => each.audience_id)).toEqual(ids.toReversed());
    expect(reply.headers.get('link')).toBeNull();
  });
});

describe('append and clear', () => {
  it('append: 204 without a body; a job of the present generation', async () => {
    const id = await create();
    const reply = await append(id, 'acme/day2/');
    expect(reply.status).toBe(204);
    expect(reply.text).toBe('');
    const job = await api.jobs.findOne({ audience: id, _id: { $ne: id } });
    expect(job).toMatchObject({ kind: 'audience', generation: 1, filePath: 'acme/day2/' });
    expect((await append(id, '../x')).status).toBe(422);
  });

  it.each([
    ['no file_path', {}, 'file_path'],
    ['an unknown field', { file_path: 'a', name: 'n' }, 'name'],
  ])('append refuses %s with 422, and queues nothing', async (_, body, path) => {
    const id = await create();
    const reply = await partner.call('PATCH', `${AUDIENCE}/${id}`, { body });
    expect([reply.status, reply.json.code]).toEqual([422, 'invalid_body']);
    expect(reply.json.errors.map((error: { path: string }) => error.path)).toContain(path);
    expect(await api.jobs.countDocuments({ audience: id })).toBe(1);
  });

  it('a prefix that ends in a slash needs no `compressed`: in group B the extension decides', async () => {
    const id = await create();
    expect((await append(id, 'acme/autumn/')).status).toBe(204);
    expect(await api.jobs.countDocuments({ audience: id, compressed: null })).toBe(2);
  });

  it('clear: 204; counts 0, no files, status 2, at once; a later append counts again', async () => {
    const id = await create();
    await listFiles(api, id, [{ status: 1 }]);
    await api.audiences.updateOne(
      { _id: id },
      {
        $set: {
          uniqueDevices: 3,
          uploadedDevices: 5,
          matchedDevices: 1,
          matchedAt: new Date(),
          matchedBy: 'report',
          rejected: { bad_identifier: 2 },
          outcome: 3,
        },
      },
    );
    expect(await details(id)).toMatchObject({ matched_by: 'report', generation: 1, cleared_at: null });
    const reply = await partner.call('PUT', `${AUDIENCE}/${id}`);
    expect(reply.status).toBe(204);
    expect(reply.text).toBe('');
    const cleared = await details(id);
    expect(cleared).toMatchObject({
      status: 2,
      file: [],
      unique_devices: 0,
      uploaded_devices: 0,
      matched_devices: 0,
      matched_at: null,
      matched_by: 'load',
      rows_rejected: {},
      generation: 2,
      cleared_at: expect.any(String),
    });
    // The time stays once everything of the old generation has been swept.
    const store = createAudienceStore(api.db);
    for (let swept = 0; swept < 2; swept++) await store.markSwept({ _id: id, generation: 2 }, -1_000);
    expect((await details(id)).cleared_at).toBe(cleared.cleared_at);
    await append(id);
    expect((await details(id)).status).toBe(0);
    expect(await api.jobs.findOne({ audience: id, generation: 2 })).not.toBeNull();
  });

  it('clear: an empty audience, an empty object, but no fields', async () => {
    const id = await create();
    expect((await partner.call('PUT', `${AUDIENCE}/${id}`)).status).toBe(204);
    expect((await partner.call('PUT', `${AUDIENCE}/${id}`, { body: {} })).status).toBe(204);
    expect((await partner.call('PUT', `${AUDIENCE}/${id}`, { body: { name: 'x' } })).status).toBe(422);
  });
});

describe('rename and delete', () => {
  const rename = (id: number, body: object, headers = {}) =>
    partner.call('PATCH', `${AUDIENCE}/${id}`, { body, headers });
  const remove = (id: number, headers = {}) => partner.call('DELETE', `${AUDIENCE}/${id}`, { headers });

  it('rename: 204 at once, and no load', async () => {
    const id = await create();
    const reply = await rename(id, { name: 'Winter' });
    expect([reply.status, reply.text, reply.headers.get('location')]).toEqual([204, '', null]);
    expect((await details(id)).name).toBe('Winter');
    expect((await partner.call('GET', `${AUDIENCE}/${id}/loads`)).json).toHaveLength(1);
  });

  it('rename: not to nothing, not together with an append', async () => {
    const id = await create();
    for (const [body, path] of [
      [{ name: '' }, 'name'],
      [{}, 'file_path'],
      [{ name: 'a', file_path: 'b' }, 'name'],
    ] as const) {
      const reply = await rename(id, body);
      expect([reply.status, reply.json.errors[0].path]).toEqual([422, path]);
    }
    expect((await details(id)).name).toBe(good.name);
  });

  it('delete: gone at once for every call, and does not come back with its first job', async () => {
    const id = await create();
    const { default_warehouse_segment_id: segment } = await details(id);
    const reply = await remove(id);
    expect([reply.status, reply.text]).toEqual([204, '']);
    for (const path of ['', '/files', '/rejects', '/loads', `/loads/${id}`, '/composition'])
      expect([path, (await partner.call('GET', `${AUDIENCE}/${id}${path}`)).status]).toEqual([path, 404]);
    expect((await append(id)).status).toBe(404);
    expect((await partner.call('PUT', `${AUDIENCE}/${id}`)).status).toBe(404);
    expect((await rename(id, { name: 'back' })).status).toBe(404);
    expect((await partner.call('GET', `${AUDIENCE}?segment_id=${segment}`)).json).toEqual([]);
    const listed = (await partner.call('GET', AUDIENCE)).json as { audience_id: number }[];
    expect(listed.map(({ audience_id }) => audience_id)).not.toContain(id);
    expect((await remove(id)).status).toBe(204);
  });

  it('delete: nobody else’s, and no unknown one', async () => {
    const other = await api.partner();
    const id = await create();
    expect((await other.call('DELETE', `${AUDIENCE}/${id}`)).status).toBe(404);
    expect((await remove(id + 1_000_000)).status).toBe(404);
    expect((await details(id)).audience_id).toBe(id);
  });
});

describe('/v1/firstparty/audience', () => {
  it('is the same resource', async () => {
    const v1 = '/v1/firstparty/audience';
    const reply = await partner.call('POST', v1, { body: good });
    expect(reply.status).toBe(201);
    const id = reply.json.audience_id;
    expect((await partner.call('GET', `${v1}/${id}`)).json).toEqual(await details(id));
    expect((await partner.call('PATCH', `${v1}/${id}`, { body: { file_path: 'a' } })).status).toBe(204);
    expect((await partner.call('PUT', `${v1}/${id}`)).status).toBe(204);
    expect((await partner.call('GET', v1)).json).toEqual((await partner.call('GET', AUDIENCE)).json);
  });
});
