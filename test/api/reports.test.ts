/** Extensions of the specification: file details, and rejected rows as a stream. The records themselves follow the specification. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { collections } from '../../schemas/documents.ts';
import { fileReport, rejectedRow, rejectedRowOfLoad } from '../../schemas/http-answers.ts';
import type { FileDocument, JobDocument } from '../../schemas/job-documents.ts';
import type { RejectsDocument } from '../../schemas/stage-documents.ts';
import { AUDIENCE, fileDocument, IMPORT, listFiles, rejects, startApi } from './support.ts';
import { useApi, usePartner } from './use-api.ts';

const api = useApi(() => startApi({ HEADRACE_TEST_REJECTS_PER_FILE: '3' }));
const partner = usePartner(api);

const queueImport = () => partner.queueImport('day/', { compressed: false });
const createAudience = () => partner.createAudience();
const insertRejects = (documents: RejectsDocument[]) =>
  api.db.collection<RejectsDocument>(collections.rejects).insertMany(documents);
const lines = (text: string, schema = rejectedRow) =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => schema.parse(JSON.parse(line)));
const row = (line: number) => ({ line, code: 'bad_identifier' as const, raw: `row ${line}` });

describe('files', () => {
  it('of an import that is not listed yet: none', async () => {
    const reply = await partner.call('GET', `${IMPORT}/${await queueImport()}/files`);
    expect([reply.status, reply.json]).toEqual([200, []]);
  });

  it('of an import: in list order, rows by outcome, why one failed', async () => {
    const id = await queueImport();
    const failure = { code: 'too_many_invalid' as const, message: 'too many', count: 7 };
    await listFiles(api, id, [
      { path: 'p-x/z.csv' },
      { path: 'p-x/a.csv', status: 3, failure, duplicates: null, rejected: { bad_identifier: 7 } },
    ]);
    const reply = await partner.call('GET', `${IMPORT}/${id}/files`);
    const files = z.array(fileReport).parse(reply.json);
    expect(files[0]).toEqual({
      s3_path: 'p-x/z.csv',
      status: 2,
      suppressed: 0,
      rows_uploaded: 9,
      updated_at: '2026-06-01T00:00:00.000Z',
      rows: 10,
      rows_accepted: 9,
      rows_duplicate: 1,
      rows_rejected: { bad_identifier: 1 },
      failure: null,
    });
    expect(files[1]).toMatchObject({ s3_path: 'p-x/a.csv', status: 3, rows_uploaded: 0, failure });
  });

  it('of an audience: those of its `file` array', async () => {
    const id = await createAudience();
    await listFiles(api, id, [{ path: 'p-x/a.csv' }, { path: 'p-x/b.csv' }]);
    const { file } = (await partner.call('GET', `${AUDIENCE}/${id}`)).json;
    const reply = await partner.call('GET', `${AUDIENCE}/${id}/files`);
    expect(
      z
        .array(fileReport)
        .parse(reply.json)
        .map(({ s3_path }) => s3_path),
    ).toEqual(['p-x/a.csv', 'p-x/b.csv']);
    expect(reply.json).toMatchObject(file);
  });

  it('by the ten thousand come as a stream, and the API stays small', async () => {
    const id = await createAudience();
    const job = await listFiles(api, id, []);
    const documents = Array.from({ length: 20_000 }, (_, i) =>
      fileDocument(job, i, { path: `p-x/${String(i).padStart(6, '0')}.csv` }),
    );
    await api.db.collection<FileDocument>(collections.files).insertMany(documents, { ordered: false });
    const reply = await partner.call('GET', `${AUDIENCE}/${id}`);
    expect(reply.headers.get('transfer-encoding')).toBe('chunked');
    expect(reply.json.file).toHaveLength(20_000);
    expect((await partner.call('GET', `${IMPORT}`)).status).toBe(200);
  });
});

describe('rejects', () => {
  it('of an import: NDJSON, in the order of files and lines, at most so many a file', async () => {
    const id = await queueImport();
    await listFiles(api, id, [{ path: 'p-x/one.csv' }, { path: 'p-x/two.csv' }]);
    await insertRejects([
      rejects(id, 1, 0, [row(4)]),
      rejects(id, 0, 1, [row(20), row(21)]),
      rejects(id, 0, 0, [row(2), row(3)]),
    ]);
    const reply = await partner.call('GET', `${IMPORT}/${id}/rejects`);
    expect(reply.status).toBe(200);
    expect(reply.headers.get('content-type')).toMatch(/^application\/x-ndjson/);
    expect(lines(reply.text).map(({ file, line }) => [file, line])).toEqual([
      ['p-x/one.csv', 2],
      ['p-x/one.csv', 3],
      ['p-x/one.csv', 20],
      ['p-x/two.csv', 4],
    ]);
    expect(lines(reply.text)[0]).toEqual({
      file: 'p-x/one.csv',
      line: 2,
      code: 'bad_identifier',
      raw: 'row 2',
    });
  });

  it('say what is not there: the end of a long row, and the rows beyond those kept of a file', async () => {
    const id = await queueImport();
    await listFiles(api, id, [
      { path: 'p-x/many.csv', rejected: { bad_identifier: 9, opted_out: 1 } },
      { path: 'p-x/few.csv', rejected: { bad_identifier: 1 } },
    ]);
    await insertRejects([
      rejects(id, 0, 0, [row(1), { ...row(2), isCut: true }]),
      rejects(id, 0, 1, [row(3), row(4)]),
      rejects(id, 1, 0, [row(5)]),
    ]);
    const given = lines((await partner.call('GET', `${IMPORT}/${id}/rejects`)).text);
    expect(given.map(({ line, truncated, omitted }) => [line, truncated, omitted])).toEqual([
      [1, undefined, undefined],
      [2, true, undefined],
      [3, undefined, 7],
      [5, undefined, undefined],
    ]);
  });

  it('are linked from the record of a job that has some', async () => {
    const [some, none] = [await queueImport(), await queueImport()];
    const jobs = api.db.collection<JobDocument>(collections.jobs);
    await jobs.updateOne({ _id: some }, { $set: { rejected: { opted_out: 2 } } });
    const linked = async (path: string) => (await partner.call('GET', path)).headers.get('link');
    const link = await linked(`${IMPORT}/${some}`);
    expect(link).toMatch(new RegExp(`${IMPORT}/${some}/rejects>; rel="rejects"$`));
    expect(await linked(`${IMPORT}/${none}`)).toBeNull();

    const audience = await createAudience();
    await jobs.updateOne({ _id: audience }, { $set: { rejected: { opted_out: 2 } } });
    expect(await linked(`${AUDIENCE}/${audience}/loads/${audience}`)).toMatch(
      new RegExp(`${AUDIENCE}/${audience}/rejects>; rel="rejects"$`),
    );
  });

  it('of many files: each under its own path', async () => {
    const id = await queueImport();
    const paths = Array.from({ length: 120 }, (_, i) => `p-x/${String(i).padStart(3, '0')}.csv`);
    await listFiles(
      api,
      id,
      paths.map((path) => ({ path })),
    );
    await insertRejects(paths.map((_, i) => rejects(id, i, 0, [row(i + 1)])));
    const reply = await partner.call('GET', `${IMPORT}/${id}/rejects`);
    expect(lines(reply.text).map(({ file }) => file)).toEqual(paths);
  });

  it('of an audience: its present generation’s; after a clear none', async () => {
    const id = await createAudience();
    await listFiles(api, id, [{ path: 'p-x/one.csv' }]);
    await insertRejects([rejects(id, 0, 0, [row(2)])]);
    const rows = lines((await partner.call('GET', `${AUDIENCE}/${id}/rejects`)).text, rejectedRowOfLoad);
    expect(rows).toMatchObject([{ load_id: id, file: 'p-x/one.csv', line: 2 }]);
    await partner.call('PUT', `${AUDIENCE}/${id}`);
    const cleared = await partner.call('GET', `${AUDIENCE}/${id}/rejects`);
    expect([cleared.status, cleared.text]).toEqual([200, '']);
  });

  it('of an audience with very many loads: those of each, and each path once, from its latest load', async () => {
    const id = await createAudience();
    const { requestToken: _, ...first } = await listFiles(api, id, []);
    const loads = Array.from({ length: 2_200 }, (_, i): JobDocument => {
      const _id = id + 10_000 + i;
      return { ...first, _id, listing: `${_id}-listing` };
    });
    await api.jobs.insertMany(loads);
    const pathOf = (i: number) => `p-x/${String(i % 1_100).padStart(4, '0')}.csv`;
    const files = loads.map((load, i) => fileDocument(load, 0, { path: pathOf(i), accepted: i }));
    const unfrozen = { ...loads[0]!, listing: 'never frozen' };
    await api.db
      .collection<FileDocument>(collections.files)
      .insertMany([...files, fileDocument(unfrozen, 0, { path: 'p-x/none.csv' })]);
    await insertRejects(loads.map(({ _id }) => rejects(_id, 0, 0, [row(2)])));

    const listed = await partner.call('GET', `${AUDIENCE}/${id}/files`);
    expect(listed.status, listed.text).toBe(200);
    const shown = z.array(fileReport).parse(listed.json);
    expect(shown.map(({ s3_path, rows_uploaded }) => [s3_path, rows_uploaded])).toEqual(
      files.slice(1_100).map(({ path, accepted }) => [path, accepted]),
    );
    const reply = await partner.call('GET', `${AUDIENCE}/${id}/rejects`);
    expect(lines(reply.text, rejectedRowOfLoad).map(({ file }) => file)).toEqual(
      files.map(({ path }) => path),
    );
  });

  it('a HEAD sends none of it', async () => {
    const reply = await partner.call('HEAD', `${IMPORT}/${await queueImport()}/rejects`);
    expect([reply.status, reply.text]).toEqual([200, '']);
  });
});

describe('conditional GET', () => {
  it('single records and lists carry an ETag; 304 while they are the same, 200 when they have changed', async () => {
    const [imported, audience] = [await queueImport(), await createAudience()];
    const asked = async (path: string, etag: string, method = 'GET') =>
      partner.call(method, path, { headers: { 'if-none-match': etag } });
    const paths = [
      IMPORT,
      `${IMPORT}/${imported}`,
      `${IMPORT}/${imported}/files`,
      `${IMPORT}/${imported}/rejects`,
      AUDIENCE,
      `${AUDIENCE}?limit=1`,
      `${AUDIENCE}/${audience}`,
      `${AUDIENCE}/${audience}/files`,
      `${AUDIENCE}/${audience}/rejects`,
      `${AUDIENCE}/${audience}/loads`,
      `${AUDIENCE}/${audience}/loads/${audience}`,
    ];
    const tags = new Map<string, string>();
    for (const path of paths) {
      const first = await partner.call('GET', path);
      const etag = first.headers.get('etag')!;
      expect([path, etag]).toEqual([path, expect.stringMatching(/^"[\w-]+"$/)]);
      expect(first.headers.get('cache-control')).toBe('private, no-cache');
      tags.set(path, etag);
      for (const given of [etag, `"other", ${etag}`, `W/${etag}`, '*']) {
        const same = await asked(path, given);
        expect([path, same.status, same.text, same.headers.get('etag')]).toEqual([path, 304, '', etag]);
      }
      expect((await asked(path, etag, 'HEAD')).status).toBe(304);
      expect((await asked(path, '"other"')).text).toBe(first.text);
    }
    for (const id of [imported, audience]) {
      await listFiles(api, id, [{ path: `p-x/${id}.csv` }]);
      await insertRejects([rejects(id, 0, 0, [row(2)])]);
    }
    for (const path of paths) {
      const changed = await asked(path, tags.get(path)!);
      expect([path, changed.status]).toEqual([path, 200]);
      expect(changed.headers.get('etag')).not.toBe(tags.get(path));
    }
  });

  it('errors have none, and If-None-Match does not hide them', async () => {
    const reply = await partner.call('GET', `${IMPORT}/987654321`, { headers: { 'if-none-match': '*' } });
    expect([reply.status, reply.headers.get('etag'), reply.headers.get('cache-control')]).toEqual([
      404,
      null,
      'no-store',
    ]);
  });
});
