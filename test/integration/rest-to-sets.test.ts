/** Only what a partner can do: provisioned by the command, files uploaded with its own credentials, calls over REST. */
import { readFileSync } from 'node:fs';
import { GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { file, ids } from '../support/rows.ts';
import { type IssuedPartner, lastJsonLine } from '../support/run-headrace.ts';
import { runHere } from '../support/run-here.ts';
import { type Service, sharedService } from '../support/stack.ts';
import { waitFor } from '../support/wait-for.ts';

let service: Service;
let partner: IssuedPartner;
let s3: S3Client;

const admin = async <T>(...args: string[]): Promise<T> =>
  lastJsonLine<T>(await runHere(['admin', ...args, '--json'], service.env));

beforeAll(async () => {
  service = await sharedService();
  partner = await admin('partner', 'create', '--name', 'Acme');
  const { endpoint, region, access_key_id, secret_access_key } = partner.s3;
  const credentials = { accessKeyId: access_key_id, secretAccessKey: secret_access_key };
  s3 = new S3Client({ endpoint, region, credentials, forcePathStyle: true });
});
afterAll(async () => {
  s3?.destroy();
});

const upload = (key: string, Body: string) =>
  s3.send(new PutObjectCommand({ Bucket: partner.s3.bucket, Key: key, Body }));

async function call(method: string, path: string, body?: unknown): Promise<Response> {
  return fetch(service.apiUrl + path, {
    method,
    headers: {
      authorization: `Bearer ${partner.api_key}`,
      ...(body ? { 'content-type': 'application/json' } : {}),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
}

/** The record, once its status is 2 or 3. */
async function finished(path: string): Promise<Record<string, unknown>> {
  let record: Record<string, unknown> = {};
  const done = async () => {
    record = (await (await call('GET', path)).json()) as Record<string, unknown>;
    return (record.status as number) >= 2;
  };
  await waitFor(done, { what: `the end of ${path}` });
  return record;
}

it('a file, a key, a POST: the import log reaches status 2 with the right counts', async () => {
  const { attribute_id } = await admin<{ attribute_id: number }>(
    ...['attribute', 'create', '--partner', partner.partner_id, '--name', 'shoes', '--foreign-key', 'shoes'],
  );
  const devices = ids(2_000);
  await upload(
    `${partner.s3.prefix}day.csv`,
    `maid,key\n${file([...devices, ...devices.slice(0, 50)], 'shoes')}`,
  );
  const answer = await call('POST', '/v1/marketplace/import', { file_path: 'day.csv', key_type: 1 });
  expect(answer.status).toBe(202);
  const { import_log_id } = (await answer.json()) as { import_log_id: number };
  expect(await finished(`/v1/marketplace/import/${import_log_id}`)).toEqual({
    import_log_id,
    file_path: 'day.csv',
    prefix_matches: [],
    path_type: 0,
    key_type: 1,
    status: 2,
    log_type: 0,
    keys: null,
    unique_devices: '2000',
    total_rows: '2050',
    rows_rejected: {},
    suppressed: 0,
    errors: null,
    created_at: expect.any(String),
    updated_at: expect.any(String),
  });

  await upload(`${partner.s3.prefix}aud/1.csv`, file(devices.slice(0, 300), ''));
  const created = await call('POST', '/v2/firstparty/audience', { name: 'Visitors', file_path: 'aud/' });
  expect(created.status).toBe(201);
  const { audience_id } = (await created.json()) as { audience_id: number };
  expect(await finished(`/v2/firstparty/audience/${audience_id}`)).toMatchObject({
    status: 2,
    unique_devices: 300,
    uploaded_devices: 300,
    matched_devices: 300,
    matched_at: expect.any(String),
    matched_by: 'load',
    rows_rejected: {},
    file: [{ s3_path: `${partner.s3.prefix}aud/1.csv`, status: 2, rows_uploaded: 300 }],
  });

  const deletion = await call('DELETE', '/v1/marketplace/import', {
    key_type: 0,
    keys: [String(attribute_id)],
  });
  const deleted = (await deletion.json()) as { import_log_id: number };
  expect(await finished(`/v1/marketplace/import/${deleted.import_log_id}`)).toMatchObject({
    status: 2,
    log_type: 1,
    keys: [String(attribute_id)],
    unique_devices: '2000',
    total_rows: '2000',
  });
});

it('a deleted attribute goes with its data, in the order of jobs, and later imports do not know it', async () => {
  const { partner_id } = partner;
  const { attribute_id } = await admin<{ attribute_id: number }>(
    'attribute',
    'create',
    '--partner',
    partner_id,
    '--name',
    'Hats',
    '--foreign-key',
    'hats',
  );
  const renamed = await admin('attribute', 'rename', '--attribute', String(attribute_id), '--name', 'Caps');
  expect(renamed).toMatchObject({ attribute_id, name: 'Caps', partner_foreign_key: 'hats' });
  await upload(`${partner.s3.prefix}hats.csv`, file(ids(100), 'hats'));
  const submit = async () => {
    const answer = await call('POST', '/v1/marketplace/import', { file_path: 'hats.csv', key_type: 1 });
    return ((await answer.json()) as { import_log_id: number }).import_log_id;
  };
  const before = await submit();
  const deleted = await admin<{ import_log_id: number }>(
    'attribute',
    'delete',
    '--attribute',
    String(attribute_id),
    '--yes',
  );
  const after = await submit();
  const log = (id: number) => finished(`/v1/marketplace/import/${id}`);
  expect(await log(before)).toMatchObject({ status: 2, unique_devices: '100' });
  expect(await log(deleted.import_log_id)).toMatchObject({ status: 2, log_type: 1, unique_devices: '100' });
  expect(await log(after)).toMatchObject({ status: 3, rows_rejected: { unknown_key: 100 } });
  const listed = (await (await call('GET', '/v1/marketplace/attribute')).json()) as object[];
  expect(listed).not.toContainEqual(expect.objectContaining({ attribute_id }));
  expect((await call('DELETE', `/v1/marketplace/attribute/${attribute_id}`)).status).toBe(404);
});

it('an owner deletes an attribute over REST', async () => {
  const { attribute_id } = await admin<{ attribute_id: number }>(
    'attribute',
    'create',
    '--partner',
    partner.partner_id,
    '--name',
    'Gloves',
  );
  const path = `/v1/marketplace/attribute/${attribute_id}`;
  const answer = await call('DELETE', path);
  expect(answer.status).toBe(202);
  const { import_log_id } = (await answer.json()) as { import_log_id: number };
  expect(answer.headers.get('location')).toMatch(new RegExp(`/v1/marketplace/import/${import_log_id}$`));
  expect(await finished(`/v1/marketplace/import/${import_log_id}`)).toMatchObject({
    status: 2,
    keys: [String(attribute_id)],
  });
  for (const [method, body] of [
    ['DELETE', undefined],
    ['PATCH', { name: 'Mittens' }],
  ] as const)
    expect((await call(method, path, body)).status).toBe(404);
});

it('a partner’s storage credentials are confined to its prefix', async () => {
  const other = await admin<IssuedPartner>('partner', 'create', '--name', 'Other');
  await upload(`${partner.s3.prefix}mine.csv`, 'x');
  for (const key of [`${other.s3.prefix}x.csv`, 'x.csv', `${partner.s3.prefix}../x.csv`]) {
    await expect(upload(key, 'x')).rejects.toThrow();
    await expect(s3.send(new GetObjectCommand({ Bucket: partner.s3.bucket, Key: key }))).rejects.toThrow();
  }
});

it('neither a key nor a storage secret is in a log', () => {
  const logs = readFileSync(service.log('api'), 'utf8') + readFileSync(service.log('pipeline'), 'utf8');
  expect(logs).toContain('"msg"');
  const secrets = [
    partner.api_key,
    partner.s3.secret_access_key,
    service.env.HEADRACE_SECRET!,
    service.env.HEADRACE_S3_SECRET_ACCESS_KEY!,
  ];
  for (const secret of secrets) expect(logs).not.toContain(secret);
});
