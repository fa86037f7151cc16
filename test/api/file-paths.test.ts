/** What a `file_path` matches: the exact object, otherwise a prefix; compressed or not. */
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { useSharedService } from '../support/fixture.ts';
import { file, ids } from '../support/rows.ts';
import { AUDIENCE, type Call, callerOf, endOf, IMPORT } from './support.ts';

const { service, driver } = await useSharedService();
let call: Call;
let prefix: string;
beforeAll(async () => {
  const partner = await driver.partner();
  prefix = partner.prefix;
  call = await callerOf(service, driver, partner);
  const attribute = await driver.attribute(partner);
  const other = await driver.partner();
  await driver.upload(partner, 'exact', file(ids(3), attribute));
  await driver.upload(partner, 'exact.csv', file(ids(5), attribute));
  await driver.upload(partner, 'day-1.csv', file(ids(7), attribute));
  await driver.upload(partner, 'day-2.csv', file(ids(11), attribute));
  await driver.upload(partner, 'packed.csv.gz', gzipSync(file(ids(13), attribute)));
  await driver.upload(partner, 'folder/1.csv', file(ids(17), attribute));
  await driver.upload(partner, 'folder/2.csv.gz', gzipSync(file(ids(19), attribute)));
  await driver.upload(partner, 'jan/1.csv', file(ids(2), attribute));
  await driver.upload(partner, 'jan2/1.csv', file(ids(2), attribute));
  await driver.upload(other, 'theirs.csv', file(ids(23), attribute));
});

const ended = (path: string) => endOf(call, path);

describe('group A', () => {
  const load = async (body: object) => {
    const reply = await call('POST', IMPORT, { body: { key_type: 0, ...body } });
    expect(reply.status).toBe(202);
    return ended(`${IMPORT}/${reply.json.import_log_id}`);
  };

  it.each([
    ['the exact object, though others begin alike', { file_path: 'exact' }, '3'],
    ['no such object: a prefix, not only up to a slash', { file_path: 'day-', compressed: false }, '18'],
    ['a .gz extension means compressed when it is omitted', { file_path: 'packed.csv.gz' }, '13'],
    ['a prefix, each file by its extension', { file_path: 'folder/', compressed: 'auto' }, '36'],
    ['compressed as given', { file_path: 'packed.csv.gz', compressed: true }, '13'],
  ])('%s', async (_, body, unique_devices) => {
    expect(await load(body)).toMatchObject({ status: 2, unique_devices, errors: null });
  });

  it.each([
    ['a prefix with compressed omitted', { file_path: 'day-' }, 'compressed_required'],
    ['no object matches', { file_path: 'nothing.csv' }, 'no_files'],
    ['no object matches the prefix', { file_path: 'nothing/', compressed: true }, 'no_files'],
    ['compressed, and its bytes are not gzip', { file_path: 'day-1.csv', compressed: true }, 'bad_gzip'],
    ['not compressed, and its bytes are gzip', { file_path: 'packed.csv.gz', compressed: false }, 'not_text'],
  ])('%s: status 3', async (_, body, code) => {
    expect(await load(body)).toMatchObject({ status: 3, errors: [{ code }] });
  });

  it.each([
    ['jan', ['jan/', 'jan2/']],
    ['jan/', []],
    ['day-', ['day-1.csv', 'day-2.csv']],
    ['exact', []],
  ])('%s: the record says what the prefix matched', async (file_path, prefix_matches) => {
    expect(await load({ file_path, compressed: 'auto' })).toMatchObject({ status: 2, prefix_matches });
  });

  it('several files, one bad: the good ones load, status 3 names the bad one', async () => {
    expect(await load({ file_path: 'folder/', compressed: false })).toMatchObject({
      status: 3,
      unique_devices: '17',
      errors: [{ code: 'not_text', file: `${prefix}folder/2.csv.gz` }],
    });
  });
});

describe('group B', () => {
  const load = async (file_path: string) => {
    const reply = await call('POST', AUDIENCE, { body: { name: 'n', file_path } });
    expect(reply.status).toBe(201);
    return ended(`${AUDIENCE}/${reply.json.audience_id}`);
  };

  it.each([
    ['exact', 3, ['exact']],
    ['day-', 18, ['day-1.csv', 'day-2.csv']],
    ['folder/', 36, ['folder/1.csv', 'folder/2.csv.gz']],
  ])('%s: the exact object, else all that begins so, unpacked by extension', async (path, devices, paths) => {
    const record = await load(path);
    expect(record).toMatchObject({ status: 2, unique_devices: devices, uploaded_devices: devices });
    expect(record.file.map(({ s3_path }: { s3_path: string }) => s3_path)).toEqual(
      paths.map((each) => prefix + each),
    );
  });

  it('nothing matches: status 3 without files', async () => {
    expect(await load('nothing/')).toMatchObject({ status: 3, unique_devices: 0, file: [] });
  });
});

it('what another partner has is not found by its name', async () => {
  const reply = await call('POST', AUDIENCE, { body: { name: 'n', file_path: 'theirs.csv' } });
  expect(await ended(`${AUDIENCE}/${reply.json.audience_id}`)).toMatchObject({ status: 3, file: [] });
});
