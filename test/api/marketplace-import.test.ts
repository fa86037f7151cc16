/** Group A, row by row of the specification and of the decisions. */
import { describe, expect, it } from 'vitest';
import { openCredentials } from '../../pipeline/sources/credentials.ts';
import { createAttributeStore } from '../../pipeline/stores/attributes.ts';
import { importLog, importLogId } from '../../schemas/http-answers.ts';
import { AUDIENCE, IMPORT } from './support.ts';
import { useApi, usePartner } from './use-api.ts';

const api = useApi();
const partner = usePartner(api);

const good = { file_path: 'day/devices.csv', key_type: 0 };
const queue = (body: unknown) => partner.call('POST', IMPORT, { body });

describe('queue an import', () => {
  it('answers 202 with {import_log_id} and its Location', async () => {
    const reply = await queue(good);
    expect(reply.status).toBe(202);
    importLogId.parse(reply.json);
    expect(reply.headers.get('location')).toBe(`${IMPORT}/${reply.json.import_log_id}`);
  });

  /** survives-kill.test.ts checks for gaps, because no other test queues jobs there. */
  it('ids grow in the order accepted', async () => {
    const [first, second] = [await partner.queueImport(), await partner.queueImport()];
    expect(second).toBeGreaterThan(first);
  });

  it.each([
    ['path_type omitted is 0', good],
    ['path_type 0', { ...good, path_type: 0 }],
    ['key_type 1', { ...good, key_type: 1 }],
    ['a prefix with compressed auto', { ...good, file_path: 'day/', compressed: 'auto' }],
    ['a prefix with compressed', { ...good, file_path: 'day/', compressed: false }],
    ['a single file with compressed', { ...good, compressed: true }],
    ['a path that looks like a query operator is just a name', { ...good, file_path: '{"$gt": ""}' }],
    ['a path with spaces, dots and other alphabets', { ...good, file_path: 'ünï/ .hidden/a..b/файл.csv' }],
    ['a path of exactly 1,024 bytes', { ...good, file_path: 'a'.repeat(1_024) }],
  ])('accepts %s', async (_, body) => {
    expect((await queue(body)).status).toBe(202);
  });

  it.each([
    ['no file_path', { key_type: 0 }, 'file_path'],
    ['no key_type', { file_path: 'a' }, 'key_type'],
    ['key_type 2', { ...good, key_type: 2 }, 'key_type'],
    ['a number as a string', { ...good, key_type: '0' }, 'key_type'],
    ['a string as a number', { ...good, file_path: 7 }, 'file_path'],
    ['an operator as a path', { ...good, file_path: { $gt: '' } }, 'file_path'],
    ['null as a path', { ...good, file_path: null }, 'file_path'],
    ['path_type 3', { ...good, path_type: 3 }, 'path_type'],
    ['compressed as text', { ...good, compressed: 'true' }, 'compressed'],
    ['an empty path', { ...good, file_path: '' }, 'file_path'],
    ['a leading slash', { ...good, file_path: '/a' }, 'file_path'],
    ['a . segment', { ...good, file_path: 'a/./b' }, 'file_path'],
    ['a .. segment', { ...good, file_path: '../other/a.csv' }, 'file_path'],
    ['a .. segment at the end', { ...good, file_path: 'a/..' }, 'file_path'],
    ['a .. segment behind a line separator', { ...good, file_path: 'a\u2028/../b' }, 'file_path'],
    ['a NUL byte', { ...good, file_path: 'a\u0000b' }, 'file_path'],
    ['a control character', { ...good, file_path: 'a\nb' }, 'file_path'],
    ['half of a surrogate pair', { ...good, file_path: 'a\ud800' }, 'file_path'],
    ['1,025 bytes', { ...good, file_path: 'ü'.repeat(513) }, 'file_path'],
    ['an absolute path with path_type 0', { ...good, file_path: 's3://bucket/a' }, 'file_path'],
    ['a final slash without compressed', { ...good, file_path: 'day/' }, 'compressed'],
    ['a mistyped field', { ...good, compresed: true }, 'compresed'],
    ['an unknown field', { ...good, $where: '1' }, '$where'],
  ])('refuses %s with 422 naming the field', async (_, body, path) => {
    const reply = await queue(body);
    expect(reply.status).toBe(422);
    expect(reply.json.code).toBe('invalid_body');
    expect(reply.json.errors.map((error: { path: string }) => error.path)).toContain(path);
  });

  it('says what is wrong with each field: missing, of a wrong type, of a wrong value', async () => {
    const messages = async (body: unknown) =>
      Object.fromEntries(
        (await queue(body)).json.errors.map(({ path, message }: { path: string; message: string }) => [
          path,
          message,
        ]),
      );
    const key_type = 'must be 0 (attribute_id) or 1 (partner_foreign_key)';
    expect(await messages({})).toEqual({ file_path: 'is required', key_type: 'is required' });
    expect(await messages({ file_path: 7, key_type: '0' })).toEqual({
      file_path: 'must be a string',
      key_type,
    });
    expect(await messages({ file_path: { $gt: '' }, key_type: null })).toEqual({
      file_path: 'must be a string',
      key_type,
    });
    expect(await messages({ ...good, path_type: 1, file_path: 's3://b-b/a', credentials: {} })).toEqual({
      'credentials.accessKeyId': 'is required',
      'credentials.secretAccessKey': 'is required',
      'credentials.region': 'is required',
    });
  });

  it('refuses an s3_path sent back, and says what to send instead', async () => {
    for (const [path, said] of [
      [`${partner.id}/day/a.csv`, /leave out p-\w+\/ and send day\/a\.csv/],
      [`${partner.id}/`, /leave out p-\w+\/$/],
    ] as const) {
      const reply = await queue({ ...good, file_path: path, compressed: false });
      expect(reply.json).toMatchObject({ code: 'invalid_body', errors: [{ path: 'file_path' }] });
      expect(reply.json.errors[0].message).toMatch(said);
      const audience = await partner.call('POST', AUDIENCE, { body: { name: 'n', file_path: path } });
      expect([audience.status, audience.json.errors]).toEqual([422, reply.json.errors]);
    }
    expect((await queue({ ...good, file_path: `${partner.id}-other/a.csv` })).status).toBe(202);
  });

  it('names every unknown field', async () => {
    const reply = await queue({ ...good, one: 1, two: 2 });
    expect(reply.json.errors.map((error: { path: string }) => error.path)).toEqual(['one', 'two']);
  });
});

describe('a partner-owned bucket', () => {
  const credentials = { accessKeyId: 'AKIAEXAMPLE', secretAccessKey: 'very/secret+key', region: 'eu-west-1' };
  const own = { file_path: 's3://their-bucket/day/a.csv', key_type: 0, path_type: 1, credentials };

  it('is accepted; the credentials are sealed, and appear nowhere in clear', async () => {
    const reply = await queue(own);
    expect(reply.status).toBe(202);
    const job = await api.jobs.findOne({ _id: reply.json.import_log_id });
    expect(job!.region).toBe('eu-west-1');
    expect(openCredentials([api.config.secret], job!)).toEqual({
      accessKeyId: credentials.accessKeyId,
      secretAccessKey: credentials.secretAccessKey,
    });
    const { credentials: sealed, ...rest } = job!;
    expect(JSON.stringify(rest)).not.toContain(credentials.secretAccessKey);
    expect(Buffer.from(sealed!.value()).toString('latin1')).not.toContain(credentials.secretAccessKey);
    const log = await partner.call('GET', `${IMPORT}/${reply.json.import_log_id}`);
    expect(log.text).not.toContain('AKIAEXAMPLE');
    expect(log.json).toMatchObject({ path_type: 1, file_path: own.file_path });
  });

  it.each([
    ['path_type 1 without credentials', { ...own, credentials: undefined }, 'credentials'],
    ['path_type 0 with credentials', { ...good, path_type: 0, credentials }, 'credentials'],
    ['credentials and no path_type', { ...good, credentials }, 'credentials'],
    ['no s3:// form', { ...own, file_path: 'their-bucket/a.csv' }, 'file_path'],
    ['another scheme', { ...own, file_path: 'https://their-bucket/a.csv' }, 'file_path'],
    ['no path after the bucket', { ...own, file_path: 's3://their-bucket' }, 'file_path'],
    ['an empty path after the bucket', { ...own, file_path: 's3://their-bucket/' }, 'file_path'],
    ['a directory bucket', { ...own, file_path: 's3://theirs--use1-az4--x-s3/a' }, 'file_path'],
    ['an object lambda', { ...own, file_path: 's3://theirs--ol-s3/a' }, 'file_path'],
    ['a reserved prefix', { ...own, file_path: 's3://xn--theirs/a' }, 'file_path'],
    ['an address for a bucket', { ...own, file_path: 's3://127.0.0.1/a' }, 'file_path'],
    ['a bucket that cannot be one', { ...own, file_path: 's3://Their_Bucket/a' }, 'file_path'],
    ['a .. segment', { ...own, file_path: 's3://their-bucket/../a' }, 'file_path'],
    ['a final slash without compressed', { ...own, file_path: 's3://their-bucket/day/' }, 'compressed'],
    [
      'an unknown member',
      { ...own, credentials: { ...credentials, endpoint: 'http://evil' } },
      'credentials.endpoint',
    ],
    [
      'a missing member',
      { ...own, credentials: { accessKeyId: 'a', region: 'eu-west-1' } },
      'credentials.secretAccessKey',
    ],
    [
      'a region that cannot be one',
      { ...own, credentials: { ...credentials, region: 'evil.example/' } },
      'credentials.region',
    ],
    [
      'a line break in a key',
      { ...own, credentials: { ...credentials, accessKeyId: 'a\r\nb' } },
      'credentials.accessKeyId',
    ],
  ])('refuses %s with 422', async (_, body, path) => {
    const reply = await queue(body);
    expect(reply.status).toBe(422);
    expect(reply.json.errors.map((error: { path: string }) => error.path)).toContain(path);
    expect(reply.text).not.toContain('very/secret+key');
  });
});

describe('read import logs', () => {
  it('gives one record, field by field as specified', async () => {
    const { import_log_id } = (await queue({ ...good, key_type: 1 })).json;
    const reply = await partner.call('GET', `${IMPORT}/${import_log_id}`);
    expect(reply.status).toBe(200);
    importLog.parse(reply.json);
    expect(reply.json).toMatchObject({
      import_log_id,
      file_path: good.file_path,
      path_type: 0,
      key_type: 1,
      status: 0,
      log_type: 0,
      keys: null,
      unique_devices: '0',
      total_rows: '0',
      errors: null,
    });
    expect(new Date(reply.json.created_at).toISOString()).toBe(reply.json.created_at);
  });

  it('shows counts as strings, and errors only with status 3', async () => {
    const import_log_id = await partner.queueImport();
    const errors = [{ code: 'empty_file' as const, message: 'no rows', file: 'a.csv' }];
    await api.jobs.updateOne(
      { _id: import_log_id },
      { $set: { phase: 'ended', status: 3, errors, rows: 12, uniqueDevices: 7 } },
    );
    const failed = (await partner.call('GET', `${IMPORT}/${import_log_id}`)).json;
    expect(failed).toMatchObject({ status: 3, errors, total_rows: '12', unique_devices: '7' });
    await api.jobs.updateOne({ _id: import_log_id }, { $set: { status: 2 } });
    expect((await partner.call('GET', `${IMPORT}/${import_log_id}`)).json.errors).toBeNull();
  });

  it('a partner without jobs has an empty list', async () => {
    expect((await (await api.partner()).call('GET', IMPORT)).json).toEqual([]);
  });

  it('never answers with what was before the question: a list after a POST has it', async () => {
    const lister = await api.partner();
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        const import_log_id = await lister.queueImport();
        const listed = (await lister.call('GET', IMPORT)).json as { import_log_id: number }[];
        expect(listed.map((log) => log.import_log_id)).toContain(import_log_id);
      }),
    );
  });
});

describe('delete attribute data', () => {
  it('queues a deletion by attribute_id, and shows it as log_type 1 with its keys', async () => {
    const first = await api.attribute(partner);
    const second = await api.attribute(partner, 'fk-second');
    const keys = [String(second), String(first), String(second)];
    const reply = await partner.call('DELETE', IMPORT, { body: { key_type: 0, keys } });
    expect(reply.status).toBe(202);
    const { import_log_id } = importLogId.parse(reply.json);
    expect(reply.headers.get('location')).toBe(`${IMPORT}/${import_log_id}`);
    const log = (await partner.call('GET', `${IMPORT}/${import_log_id}`)).json;
    expect(log).toMatchObject({ log_type: 1, keys, key_type: 0, file_path: '', path_type: 0, status: 0 });
    importLog.parse(log);
    const job = await api.jobs.findOne({ _id: import_log_id });
    expect(job).toMatchObject({ kind: 'delete', attributes: [second, first] });
    expect(job!.attributesAsOf).toBeGreaterThanOrEqual(second);
  });

  it('queues a deletion by partner_foreign_key', async () => {
    const id = await api.attribute(partner, 'colour:red');
    const reply = await partner.call('DELETE', IMPORT, { body: { key_type: 1, keys: ['colour:red'] } });
    expect(reply.status).toBe(202);
    expect((await api.jobs.findOne({ _id: reply.json.import_log_id }))!.attributes).toEqual([id]);
  });

  it('takes as many keys as are allowed, as long as they may be, and escaped', async () => {
    const deleter = await api.partner();
    const keys = Array.from({ length: 1_000 }, (_, i) => `${'ü'.repeat(126)}${String(i).padStart(4, '0')}`);
    await createAttributeStore(api.db).createAll(
      deleter.id,
      keys.map((foreignKey) => ({ name: 'attribute', foreignKey })),
    );
    const raw = JSON.stringify({ key_type: 1, keys }).replaceAll('ü', '\\u00fc');
    expect(raw.length).toBeGreaterThan(750_000);
    const reply = await deleter.call('DELETE', IMPORT, { raw });
    expect([reply.status, reply.json.code]).toEqual([202, undefined]);
    const log = (await deleter.call('GET', `${IMPORT}/${reply.json.import_log_id}`)).json;
    expect(importLog.parse(log).keys).toEqual(keys);
    // Only deletions may be this large.
    const large = JSON.stringify(good).padEnd(100_000, ' ');
    expect((await deleter.call('POST', IMPORT, { raw: large })).status).toBe(413);
  });

  it.each([
    ['foreign keys', 0, ['red', 'x'], /foreign keys: use key_type 1/],
    ['attribute ids', 1, ['id'], /attribute ids: use key_type 0/],
    ['neither', 0, ['x', 'y'], /Nothing was queued\.$/],
  ] as const)('says what type the keys are of: %s', async (_, key_type, given, said) => {
    const mistaken = await api.partner();
    const id = String(await api.attribute(mistaken, 'red'));
    const keys = given.map((key) => (key === 'id' ? id : key));
    const reply = await mistaken.call('DELETE', IMPORT, { body: { key_type, keys } });
    expect(reply.json.detail).toMatch(said);
  });

  it('refuses unknown keys with 422, names them, and queues nothing', async () => {
    const mine = String(await api.attribute(partner));
    const other = await api.partner();
    const theirs = String(await api.attribute(other, 'theirs'));
    const before = await api.jobs.countDocuments({ partner: partner.id });
    const reply = await partner.call('DELETE', IMPORT, {
      body: { key_type: 0, keys: [mine, theirs, '01', 'x'] },
    });
    expect(reply.status).toBe(422);
    expect(reply.json.code).toBe('unknown_keys');
    expect(reply.json.errors.map((error: { path: string }) => error.path)).toEqual([
      'keys.1',
      'keys.2',
      'keys.3',
    ]);
    expect(reply.json.detail).toContain(theirs);
    const foreign = await partner.call('DELETE', IMPORT, { body: { key_type: 1, keys: ['theirs'] } });
    expect(foreign.status).toBe(422);
    expect(await api.jobs.countDocuments({ partner: partner.id })).toBe(before);
  });

  it.each([
    ['no keys', { key_type: 0 }],
    ['an empty list', { key_type: 0, keys: [] }],
    ['numbers in the list', { key_type: 0, keys: [1] }],
    ['an operator in the list', { key_type: 1, keys: [{ $ne: '' }] }],
    ['text instead of a list', { key_type: 0, keys: '1' }],
    ['a NUL byte', { key_type: 1, keys: ['a\u0000'] }],
    ['a direction mark', { key_type: 1, keys: ['a\u2067'] }],
    ['a key of 257 bytes', { key_type: 1, keys: [`${'ü'.repeat(128)}a`] }],
    ['no key_type', { keys: ['1'] }],
    ['key_type as text', { key_type: '0', keys: ['1'] }],
    ['an empty key', { key_type: 1, keys: [''] }],
    ['a mistyped field', { key_type: 0, keys: ['1'], key: '2' }],
    ['1,001 keys', { key_type: 0, keys: Array.from({ length: 1_001 }, (_, i) => String(i + 1)) }],
  ])('refuses %s with 422, and queues nothing', async (_, body) => {
    const before = await api.jobs.countDocuments({ partner: partner.id });
    const reply = await partner.call('DELETE', IMPORT, { body });
    expect([reply.status, reply.json.code]).toEqual([422, 'invalid_body']);
    expect(await api.jobs.countDocuments({ partner: partner.id })).toBe(before);
  });
});
