/** A suspended partner can neither send nor read, and resumes with the same keys; storage keys rotate without a gap. */
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { describe, expect, it } from 'vitest';
import { useService } from '../support/fixture.ts';
import { type IssuedPartner, storageOf } from '../support/run-headrace.ts';
import { createTokenSigner } from '../support/user-tokens.ts';
import { waitFor } from '../support/wait-for.ts';
import { adminCommands } from './admin-commands.ts';
import { AUDIENCE, createCaller, IMPORT } from './support.ts';

const { service, driver } = await useService();

const { json: admin, refused } = adminCommands(() => service.env);
const create = (name: string): Promise<IssuedPartner> => admin('partner', 'create', '--name', name);
const callOf = ({ api_key }: IssuedPartner) => createCaller(service.apiUrl, api_key);

type Keys = Pick<IssuedPartner['s3'], 'access_key_id' | 'secret_access_key'>;
const put = ({ s3 }: IssuedPartner, name: string, body: string, keys: Keys = s3) =>
  storageOf({ ...s3, ...keys }).send(
    new PutObjectCommand({ Bucket: s3.bucket, Key: `${s3.prefix}${name}`, Body: body }),
  );
const denied = { $metadata: expect.objectContaining({ httpStatusCode: 403 }) };
const row = '8f9bb0d5-5b0c-4e2b-9c1d-2f6c1f0e7a11,visit\n';
const isRefused = (partner: IssuedPartner) => async () =>
  (await callOf(partner)('GET', IMPORT)).json.code === 'partner_suspended';

const endOf = (id: number) =>
  waitFor(
    async () => {
      const job = await driver.stores.jobs.find(id);
      return job?.phase === 'ended' ? job : undefined;
    },
    { what: `the end of job ${id}` },
  );

describe('a suspended partner', () => {
  it('is refused by the API and by the storage; what it had queued still runs; others are not held', async () => {
    const [partner, other] = [await create('Suspended'), await create('Other')];
    const call = callOf(partner);
    const user_token = await createTokenSigner(driver.db, service.config)(partner.partner_id, 'c');
    const headers = { 'x-headrace-console': '1' };
    const signIn = () =>
      createCaller(service.apiUrl)('POST', '/console/session', { body: { user_token }, headers });
    const cookie = (await signIn()).headers.get('set-cookie')!.split(';')[0]!;
    await put(partner, 'a.csv', row);
    const { audience_id } = (await call('POST', AUDIENCE, { body: { name: 'n', file_path: 'a.csv' } })).json;

    const suspended = await admin(
      'partner',
      'suspend',
      '--partner',
      partner.partner_id,
      '--reason',
      'unpaid',
      '--yes',
    );
    expect(suspended).toMatchObject({ storage_suspended: true, cancelled_jobs: 0 });
    await waitFor(isRefused(partner), { what: 'the suspended partner to be refused' });
    const body = { file_path: 'a.csv', key_type: 0 };
    const before = await driver.stores.jobs.list({ partner: partner.partner_id, all: true, limit: 10 });
    for (const [method, path] of [
      ['POST', IMPORT],
      ['GET', `${AUDIENCE}/${audience_id}`],
      ['PUT', `${AUDIENCE}/${audience_id}`],
    ] as const) {
      const reply = await call(method, path, method === 'POST' ? { body } : {});
      expect([path, reply.status, reply.json.code]).toEqual([path, 403, 'partner_suspended']);
    }
    const bySession = await createCaller(service.apiUrl)('GET', AUDIENCE, { headers: { cookie } });
    expect(bySession.json.code).toBe('partner_suspended');
    expect((await signIn()).json.code).toBe('partner_suspended');
    await expect(put(partner, 'b.csv', row)).rejects.toMatchObject(denied);
    expect((await callOf(other)('GET', IMPORT)).status).toBe(200);
    await put(other, 'b.csv', row);

    expect(before.map(({ _id }) => _id)).toEqual([audience_id]);
    const job = await endOf(audience_id);
    expect(job).toMatchObject({ status: 2, uniqueDevices: 1 });

    expect(await admin('partner', 'resume', '--partner', partner.partner_id)).toMatchObject({
      suspended_at: null,
      storage_resumed: true,
    });
    await waitFor(async () => (await call('GET', IMPORT)).status === 200, { what: 'the partner to be back' });
    await put(partner, 'b.csv', row);
    const reasons = await admin('audit', '--partner', partner.partner_id);
    expect(
      reasons.find(({ action }: { action: string }) => action === 'partner suspend').details.reason,
    ).toBe('unpaid');
  });

  it('--cancel-jobs: its unfinished jobs are cancelled', async () => {
    const partner = await create('Cancelled');
    await service.kill('pipeline');
    const body = { file_path: 'a.csv', key_type: 0 };
    const id = (await callOf(partner)('POST', IMPORT, { body })).json.import_log_id;
    const suspended = await admin(
      'partner',
      'suspend',
      '--partner',
      partner.partner_id,
      '--cancel-jobs',
      '--yes',
    );
    expect(suspended.cancelled_jobs).toBe(1);
    await service.restart('pipeline');
    const job = await endOf(id);
    expect(job.errors).toMatchObject([{ code: 'cancelled' }]);
    await waitFor(isRefused(partner), { what: 'the suspended partner to be refused' });
  });
});

describe('storage keys', () => {
  it('rotate: old and new work side by side until the old are retired; suspending takes both', async () => {
    const partner = await create('Rotating');
    const of = ['--partner', partner.partner_id];
    const keys: Keys = await admin('storage-key', 'rotate', ...of);
    await put(partner, 'old.csv', row);
    await put(partner, 'new.csv', row, keys);
    expect(await refused('storage-key', 'rotate', ...of)).toContain('storage-key retire');

    await admin('partner', 'suspend', '--yes', ...of);
    for (const each of [partner.s3, keys])
      await expect(put(partner, 'x.csv', row, each)).rejects.toMatchObject(denied);
    await admin('partner', 'resume', ...of);
    for (const each of [partner.s3, keys]) await put(partner, 'x.csv', row, each);

    await admin('storage-key', 'retire', '--yes', ...of);
    await expect(put(partner, 'old.csv', row)).rejects.toThrow();
    await put(partner, 'new.csv', row, keys);
    expect(await refused('storage-key', 'retire', '--yes', ...of)).toContain('no old storage keys');
    await admin('storage-key', 'rotate', ...of);
  });
});
