/** A partner's quotas, from the admin command to requests and jobs. The day may change during a test. */
import { describe, expect, it } from 'vitest';
import { dayOf } from '../../pipeline/stores/usage.ts';
import type { PartnerDocument } from '../../schemas/partner-documents.ts';
import { useService } from '../support/fixture.ts';
import { waitFor } from '../support/wait-for.ts';
import { adminCommands } from './admin-commands.ts';
import { AUDIENCE, callerOf, endOf, IMPORT } from './support.ts';

const { service, driver } = await useService();

const { json: admin, misused, run } = adminCommands(() => service.env, 'partner');
async function partnerWith(...quotas: string[]) {
  const partner = await driver.partner();
  if (quotas.length > 0) await admin('quota', '--partner', partner._id, ...quotas);
  return { partner, call: await callerOf(service, driver, partner) };
}
const rowsOf = (count: number) =>
  Array.from({ length: count }, (_, i) => `8f9bb0d5-5b0c-4e2b-9c1d-${String(i).padStart(12, '0')},e\n`).join(
    '',
  );
const usageOf = async ({ _id }: PartnerDocument) => {
  const { days } = await admin('usage', '--partner', _id);
  const sum = (field: 'jobs' | 'bytes' | 'rows') =>
    days.reduce((total: number, day: Record<typeof field, number>) => total + day[field], 0);
  return { jobs: sum('jobs'), bytes: sum('bytes'), rows: sum('rows') };
};

describe('rows a day', () => {
  it('the job that passes the limit is loaded; then 429 until midnight, but for deletions and repetitions', async () => {
    const { partner, call } = await partnerWith('--rows-per-day', '2');
    const { call: other } = await partnerWith();
    await driver.upload(partner, 'three.csv', rowsOf(3));
    const body = { name: 'n', file_path: 'three.csv' };
    const headers = { 'idempotency-key': 'first' };
    const first = await call('POST', AUDIENCE, { body, headers });
    expect(first.status).toBe(201);
    expect(await driver.ended(first.json.audience_id)).toMatchObject({ status: 2, rows: 3 });

    const reply = await waitFor(
      async () => {
        const answer = await call('POST', AUDIENCE, { body });
        if (answer.status === 429) return answer;
        await driver.ended(answer.json.audience_id);
        return undefined;
      },
      { what: 'the quota to be used up' },
    );
    expect(reply.json.code).toBe('quota_exceeded');
    const seconds = Number(reply.headers.get('retry-after'));
    expect(seconds).toBeGreaterThanOrEqual(1);
    expect(seconds).toBeLessThanOrEqual(86_400);
    const again = await call('POST', AUDIENCE, { body, headers });
    expect([again.status, again.json]).toEqual([201, first.json]);
    const keys = [String(await driver.attribute(partner))];
    expect((await call('DELETE', IMPORT, { body: { key_type: 0, keys } })).status).toBe(202);
    expect((await other('POST', IMPORT, { body: { file_path: 'none', key_type: 0 } })).status).toBe(202);

    const jobs = await driver.jobs.find({ partner: partner._id, kind: 'audience' }).toArray();
    expect(await usageOf(partner)).toMatchObject({
      jobs: jobs.length,
      rows: jobs.reduce((sum, { rows }) => sum + rows, 0),
    });
  });
});

describe('bytes per day', () => {
  const file = rowsOf(2);
  const size = String(file.length);

  it('of jobs queued together, those that fit are loaded and the others end with quota_exceeded', async () => {
    const { partner, call } = await partnerWith('--bytes-per-day', String(2 * file.length + 1));
    await service.kill('pipeline');
    const ids: number[] = [];
    for (const name of ['a', 'b', 'c', 'd']) {
      await driver.upload(partner, `${name}.csv`, file);
      const reply = await call('POST', AUDIENCE, { body: { name, file_path: `${name}.csv` } });
      ids.push(reply.json.audience_id);
    }
    await service.restart('pipeline');
    const jobs = await Promise.all(ids.map((id) => driver.ended(id)));
    const days = [...new Set(jobs.map(({ createdAt }) => dayOf(createdAt)))];
    for (const day of days) {
      const ofDay = jobs.filter(({ createdAt }) => dayOf(createdAt) === day);
      const loaded = ofDay.filter(({ status }) => status === 2);
      expect(loaded).toHaveLength(Math.min(2, ofDay.length));
      for (const job of ofDay.filter(({ status }) => status === 3))
        expect(job).toMatchObject({ errors: [{ code: 'quota_exceeded' }], rows: 0, uniqueDevices: 0 });
    }
    const loaded = jobs.filter(({ status }) => status === 2).length;
    expect(await usageOf(partner)).toEqual({ jobs: 4, bytes: loaded * file.length, rows: 2 * loaded });
  });

  it('a prefix that is too large as a whole is not loaded, and leaves no files behind', async () => {
    const { partner, call } = await partnerWith('--bytes-per-day', size);
    for (const name of ['a', 'b']) await driver.upload(partner, `large/${name}.csv`, file);
    const { json } = await call('POST', AUDIENCE, { body: { name: 'n', file_path: 'large/' } });
    expect(await driver.ended(json.audience_id)).toMatchObject({
      status: 3,
      errors: [{ code: 'quota_exceeded' }],
    });
    expect(await driver.filesOf(json.audience_id)).toEqual([]);
    expect(await usageOf(partner)).toEqual({ jobs: 1, bytes: 0, rows: 0 });
  });
});

describe('a dry run', () => {
  it('counts what it reads, ends where the bytes of the day end, and is refused after that', async () => {
    const { partner, call } = await partnerWith('--bytes-per-day', '200000', '--rows-per-day', '1');
    await driver.upload(partner, 'small.csv', rowsOf(100));
    await driver.upload(partner, 'large.csv', rowsOf(60_000));
    const post = (file_path: string) =>
      call('POST', `${AUDIENCE}?dry_run=true`, { body: { name: 'n', file_path } });
    const run = async (file_path: string) => endOf(call, (await post(file_path)).headers.get('location')!);
    expect(await run('small.csv')).toMatchObject({ status: 2, rows_accepted: 100, errors: null });
    expect(await usageOf(partner)).toEqual({ jobs: 0, bytes: rowsOf(100).length, rows: 0 });
    expect(await run('large.csv')).toMatchObject({
      status: 3,
      complete: false,
      errors: [{ code: 'quota_exceeded' }],
    });
    const refused = await waitFor(
      async () => {
        const reply = await post('small.csv');
        return reply.status === 429 ? reply : undefined;
      },
      { what: 'the quota to be used up' },
    );
    expect(refused.json.code).toBe('quota_exceeded');
    const load = await call('POST', AUDIENCE, { body: { name: 'n', file_path: 'small.csv' } });
    expect([load.status, load.json.code]).toEqual([429, 'quota_exceeded']);
  });
});

describe('unfinished jobs', () => {
  it('a partner has its own limit, and the default again when told so', async () => {
    const { partner, call } = await partnerWith('--pending-jobs', '2');
    await service.kill('pipeline');
    const post = () => call('POST', IMPORT, { body: { file_path: 'none', key_type: 0 } });
    const statuses = [];
    for (let i = 0; i < 3; i++) statuses.push((await post()).status);
    expect(statuses).toEqual([202, 202, 429]);
    expect((await post()).json.code).toBe('too_many_pending');
    expect(await admin('quota', '--partner', partner._id, '--pending-jobs', 'default')).toEqual({
      partner_id: partner._id,
      pending_jobs: service.config.maxPendingJobs,
      bytes_per_day: null,
      rows_per_day: null,
    });
    await waitFor(async () => (await post()).status === 202, { what: 'the default to be in effect' });
    await service.restart('pipeline');
  });
});

describe('the command', () => {
  it('reads amounts, and shows what is set and what is used', async () => {
    const { partner } = await partnerWith('--bytes-per-day', '1.5TB', '--rows-per-day', '100M');
    const { quotas, days } = await admin('usage', '--partner', partner._id);
    expect(quotas).toMatchObject({ bytes_per_day: 1.5e12, rows_per_day: 100_000_000 });
    expect(days).toEqual([]);
    await admin('quota', '--partner', partner._id, '--rows-per-day', 'none');
    const { stdout } = await run('usage', '--partner', partner._id);
    expect(stdout).toMatch(
      /unfinished jobs +10,000 +\(default\)\nbytes per day +1,500,000,000,000\nrows per day +no limit\n/,
    );
    expect(await misused('quota', '--partner', partner._id, '--rows-per-day', 'many')).toContain(
      "'--rows-per-day <number>'",
    );
  });
});
