/** The loads of an audience with their results and errors. Behind a proxy, with metrics on a separate address. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createAudienceStore } from '../../pipeline/stores/audiences.ts';
import { audienceLoad, audienceLoadDetails } from '../../schemas/http-answers.ts';
import type { JobError } from '../../schemas/job-documents.ts';
import { AUDIENCE, IMPORT, listFiles, pagesOf, startApiOnOwnData } from './support.ts';
import { useApi, usePartner } from './use-api.ts';

const PUBLIC = 'https://import.example.com/headrace';
const V1 = '/v1/firstparty/audience';
const api = useApi(() =>
  startApiOnOwnData({
    HEADRACE_PUBLIC_URL: `${PUBLIC}/`,
    HEADRACE_METRICS_HOST: '127.0.0.2',
  }),
);
const partner = usePartner(api);

const create = (file_path = 'acme/') => partner.createAudience({ file_path });
const append = async (id: number, file_path: string) => {
  const reply = await partner.call('PATCH', `${AUDIENCE}/${id}`, { body: { file_path } });
  return Number(reply.headers.get('location')!.split('/').at(-1));
};
const get = (path: string) => partner.call('GET', path);
const end = (id: number, errors: JobError[] | null, more = {}) =>
  api.jobs.updateOne(
    { _id: id },
    { $set: { phase: 'ended', status: errors ? 3 : 2, errors, ...more }, $currentDate: { updatedAt: true } },
  );
const noFiles: JobError = { code: 'no_files', message: 'No object matches acme/.' };

describe('a load', () => {
  it('append answers 204 with its Location, under the version that was asked', async () => {
    const id = await create();
    for (const path of [AUDIENCE, V1]) {
      const reply = await partner.call('PATCH', `${path}/${id}`, { body: { file_path: 'more.csv' } });
      expect([reply.status, reply.text]).toEqual([204, '']);
      const location = reply.headers.get('location')!;
      const { _id } = (await api.jobs.findOne({ audience: id }, { sort: { _id: -1 } }))!;
      expect(location).toBe(`${PUBLIC}${path}/${id}/loads/${_id}`);
      const load = await get(location.slice(PUBLIC.length));
      expect(load.status).toBe(200);
      expect(audienceLoadDetails.parse(load.json)).toMatchObject({
        load_id: _id,
        file_path: 'more.csv',
        status: 0,
        errors: null,
        file: [],
      });
    }
  });

  it('tells its files, counts and errors', async () => {
    const id = await create();
    const failure = { code: 'column_count' as const, message: 'Three columns.', line: 7 };
    await listFiles(api, id, [
      { path: 'p-x/a.csv' },
      { path: 'p-x/b.csv', status: 3, failure, duplicates: null },
    ]);
    expect((await get(`${AUDIENCE}/${id}/loads/${id}`)).json).toMatchObject({ status: 1, files: 2 });
    const errors = [{ ...failure, file: 'p-x/b.csv' }];
    await end(id, errors, { filesDone: 2, rows: 20, uniqueDevices: 9 });
    const load = audienceLoadDetails.parse((await get(`${AUDIENCE}/${id}/loads/${id}`)).json);
    expect(load).toMatchObject({
      status: 3,
      files: 2,
      files_done: 2,
      unique_devices: 9,
      total_rows: 20,
      errors,
    });
    expect(load.file.map(({ s3_path, failure }) => [s3_path, failure?.code])).toEqual([
      ['p-x/a.csv', undefined],
      ['p-x/b.csv', 'column_count'],
    ]);
  });

  it('says what it brought when it has ended; a cancelled one says nothing of the audience', async () => {
    const id = await create();
    const path = `${AUDIENCE}/${id}/loads/${id}`;
    const brought = async () => {
      const { rows_accepted, rows_rejected, new_devices, audience_devices } = (await get(path)).json;
      return [rows_accepted, rows_rejected, new_devices, audience_devices];
    };
    const stored = { accepted: 8, rejected: { opted_out: 2 }, newDevices: 5, audienceDevices: 7 };
    await listFiles(api, id, []);
    await api.jobs.updateOne({ _id: id }, { $set: stored });
    expect(await brought()).toEqual([null, null, null, null]);
    await end(id, null);
    expect(await brought()).toEqual([8, { opted_out: 2 }, 5, 7]);
    await end(id, [{ code: 'cancelled', message: 'Cleared.' }], { newDevices: 0 });
    expect(await brought()).toEqual([8, { opted_out: 2 }, 0, null]);
    // A job that ended before these fields existed.
    await api.jobs.updateOne(
      { _id: id },
      { $unset: { accepted: 1, rejected: 1, newDevices: 1, audienceDevices: 1 } },
    );
    expect(await brought()).toEqual([null, null, null, null]);
  });

  it('that a clear cancelled says so at once, though its turn has not come', async () => {
    const id = await create();
    expect((await partner.call('PUT', `${AUDIENCE}/${id}`)).status).toBe(204);
    const later = await append(id, 'later.csv');
    const loads = z.array(audienceLoad).parse((await get(`${AUDIENCE}/${id}/loads`)).json);
    expect(loads.map(({ load_id, status, errors }) => [load_id, status, errors?.[0]?.code])).toEqual([
      [later, 0, undefined],
      [id, 3, 'cancelled'],
    ]);
    expect(loads.map(({ generation, cleared }) => [generation, cleared])).toEqual([
      [2, false],
      [1, true],
    ]);
    expect((await get(`${AUDIENCE}/${id}`)).json.status).toBe(0);
  });

  it('of another audience, of nobody, withdrawn, or an import: 404', async () => {
    const [id, other] = [await create(), await create()];
    const imported = await partner.queueImport();
    const withdrawn = await append(id, 'a.csv');
    await api.jobs.updateOne({ _id: withdrawn }, { $set: { phase: 'withdrawn' } });
    for (const load of [other, imported, withdrawn, 987_654, 'x'])
      expect((await get(`${AUDIENCE}/${id}/loads/${load}`)).status).toBe(404);
    const stranger = await api.partner();
    for (const path of [`${AUDIENCE}/${id}/loads`, `${AUDIENCE}/${id}/loads/${id}`])
      expect((await stranger.call('GET', path)).status).toBe(404);
    expect((await get(`${AUDIENCE}/${id}/loads`)).json).toHaveLength(1);
  });
});

describe('the list', () => {
  it('newest first, in pages by limit and cursor, with a Link of the public address', async () => {
    const id = await create();
    const loads = [id];
    for (let i = 0; i < 4; i++) loads.push(await append(id, `${i}.csv`));
    const pages = await pagesOf(partner.call, `${AUDIENCE}/${id}/loads?limit=2`);
    const seen = pages.flatMap(({ json }) => json.map(({ load_id }: { load_id: number }) => load_id));
    expect(seen).toEqual(loads.toReversed());
    const link = `<${PUBLIC}${AUDIENCE}/${id}/loads?limit=2&cursor=${seen[1]}>; rel="next"`;
    expect(pages[0]!.headers.get('link')).toBe(link);
    expect((await get(`${V1}/${id}/loads`)).json).toEqual((await get(`${AUDIENCE}/${id}/loads`)).json);
  });

  it('a hundred, unless told', async () => {
    const id = await create();
    const job = (await api.jobs.findOne({ _id: id }))!;
    const more = Array.from({ length: 120 }, (_, i) => ({
      ...job,
      _id: 1_000_000 + i,
      requestToken: `many-${i}`,
    }));
    await api.jobs.insertMany(more);
    const reply = await get(`${AUDIENCE}/${id}/loads`);
    await api.jobs.deleteMany({ _id: { $gte: 1_000_000 } });
    expect(reply.json).toHaveLength(100);
    expect(reply.headers.get('link')).toContain('limit=100&cursor=1000020');
  });
});

describe('an audience', () => {
  /** As dispatch does when a load ends. */
  const finish = async (id: number, errors: JobError[] | null, failedFiles = 0) => {
    const job = (await api.jobs.findOne({ _id: id }))!;
    await createAudienceStore(api.db).recordLoad(job, {
      newDevices: 1,
      matchedDevices: 0,
      uploadedDevices: 1,
      failedFiles,
      errors,
    });
    await end(id, errors);
  };
  const status = async (id: number) => (await get(`${AUDIENCE}/${id}`)).json.status as number;

  it('says why: a path that matches nothing is status 3 without files, and no_files among its loads', async () => {
    const id = await create('nothing/');
    await finish(id, [noFiles]);
    expect((await get(`${AUDIENCE}/${id}`)).json).toMatchObject({ status: 3, file: [] });
    expect((await get(`${AUDIENCE}/${id}/loads`)).json).toMatchObject([
      { load_id: id, status: 3, errors: [noFiles] },
    ]);
  });

  it('stays at 3 until the same path loads, also after part of its files did', async () => {
    const id = await create('good.csv');
    await finish(id, null);
    expect(await status(id)).toBe(2);
    const lost: JobError = { code: 'ledger_mismatch', message: 'The rows do not add up.' };
    await finish(await append(id, '$bad/'), [lost]);
    expect(await status(id)).toBe(3);
    await finish(await append(id, 'other.csv'), null);
    expect(await status(id)).toBe(3);
    // Not a success: one of its files failed.
    const bad: JobError = { code: 'not_text', message: 'Bytes.', file: 'p-x/$bad/1.csv' };
    await finish(await append(id, '$bad/'), [bad], 1);
    await finish(await append(id, 'other.csv'), null);
    expect(await status(id)).toBe(3);
    await finish(await append(id, '$bad/'), null, -1);
    expect(await status(id)).toBe(2);
  });

  it('files that failed beyond those that a job lists do not count as the whole load', async () => {
    const id = await create('day/');
    const bad: JobError = { code: 'not_text', message: 'Bytes.', file: 'p-x/day/1.csv' };
    await finish(id, [bad, { code: 'not_text', message: '50 more files failed.', count: 50 }], 51);
    expect(await status(id)).toBe(3);
    await finish(await append(id, 'day/'), null, -51);
    expect(await status(id)).toBe(2);
  });

  it('keeps so many failed paths and no more; then only a clear helps', async () => {
    const id = await create('0');
    await finish(id, [noFiles]);
    const failedPaths = Array.from({ length: 1_000 }, (_, i) => String(i));
    await api.audiences.updateOne({ _id: id }, { $set: { failedPaths } });
    await finish(await append(id, 'one more'), [noFiles]);
    await api.audiences.updateOne({ _id: id }, { $pullAll: { failedPaths } });
    await finish(await append(id, 'one more'), null);
    expect(await status(id)).toBe(3);
    await partner.call('PUT', `${AUDIENCE}/${id}`);
    await finish(await append(id, 'one more'), null);
    expect(await status(id)).toBe(2);
  });

  it('updated_at moves with an append', async () => {
    const id = await create();
    await finish(id, null);
    const before = (await get(`${AUDIENCE}/${id}`)).json.updated_at;
    await append(id, 'more.csv');
    const after = (await get(`${AUDIENCE}/${id}`)).json.updated_at;
    expect(Date.parse(after)).toBeGreaterThan(Date.parse(before));
    const listed = (await get(AUDIENCE)).json.find(
      ({ audience_id }: { audience_id: number }) => audience_id === id,
    );
    expect(listed.updated_at).toBe(after);
  });
});

describe('addresses', () => {
  it('Location and Link begin with the public URL', async () => {
    const imported = await partner.call('POST', IMPORT, { body: { file_path: 'a', key_type: 0 } });
    expect(imported.headers.get('location')).toBe(`${PUBLIC}${IMPORT}/${imported.json.import_log_id}`);
    const created = await partner.call('POST', V1, { body: { name: 'n', file_path: 'a' } });
    expect(created.headers.get('location')).toBe(`${PUBLIC}${V1}/${created.json.audience_id}`);
    await create();
    const page = await get(`${AUDIENCE}?limit=1`);
    expect(page.headers.get('link')).toMatch(/^<https:\/\/import\.example\.com\/headrace\/v2\//);
  });

  it('the metrics are where they were told to be, and nowhere else', async () => {
    const url = (host: string) => `http://${host}:${api.config.apiMetricsPort}/metrics`;
    expect((await fetch(url('127.0.0.2'))).status).toBe(200);
    await expect(fetch(url('127.0.0.1'))).rejects.toThrow();
  });
});
