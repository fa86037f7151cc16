/** The caller's identity, and the partner's usage. */
import { describe, expect, it } from 'vitest';
import { createApiStores } from '../../api/stores/api-stores.ts';
import { account, usage } from '../../schemas/http-account.ts';
import { createCaller, IMPORT } from './support.ts';
import { useApi, usePartner } from './use-api.ts';

const api = useApi();
const partner = usePartner(api);

describe('the account', () => {
  it('names partner, prefix and key, and works with a key without scopes', async () => {
    const { status, json } = await partner.call('GET', '/v1/account');
    expect([status, account.parse(json)]).toEqual([
      200,
      {
        partner_id: partner.id,
        name: 'test',
        customer: null,
        prefix: partner.prefix,
        key: {
          key: partner.key.slice(0, 11),
          label: null,
          scopes: ['read', 'import', 'audience', 'webhook', 'privacy'],
          expires_at: null,
        },
      },
    ]);
    const expiresAt = new Date('2099-01-01T00:00:00Z');
    const limits = { scopes: ['import' as const], expiresAt };
    const { apiKeys } = createApiStores(api.db);
    const { key } = await apiKeys.create(api.config.secret, partner.id, 'nightly', limits);
    const own = account.parse((await createCaller(api.service.apiUrl, key)('GET', '/v1/account')).json);
    expect(own.key).toEqual({
      key: key.slice(0, 11),
      label: 'nightly',
      scopes: ['import'],
      expires_at: expiresAt.toISOString(),
    });
  });

  it('names the customer of a user token, without the prefix of the partner', async () => {
    const headers = { 'x-user-token': await api.token(partner.id, 'shop') };
    const { json } = await partner.call('GET', '/v1/account', { headers });
    expect(account.parse(json)).toMatchObject({ customer: 'shop', prefix: null });
    expect((await api.anonymous('GET', '/v1/account')).status).toBe(401);
  });
});

describe('usage', () => {
  it('has quotas, unfinished jobs and the days with usage of this partner, newest first', async () => {
    const { partners, usage: stored } = createApiStores(api.db);
    await partners.setQuotas(partner.id, { pendingJobs: 7, rowsPerDay: 1_000 });
    await partner.call('POST', IMPORT, { body: { file_path: 'a', key_type: 0 } });
    for (const [day, bytes] of [
      ['2026-06-01', 5],
      ['2026-06-03', 7],
      ['2026-06-02', 6],
    ] as const)
      await stored.addBytes(partner.id, day, bytes);
    const { status, json } = await partner.call('GET', '/v1/usage?days=2');
    expect([status, usage.parse(json)]).toEqual([
      200,
      {
        pending_jobs: 1,
        quotas: { pending_jobs: 7, bytes_per_day: null, rows_per_day: 1_000 },
        days: [
          { day: '2026-06-03', jobs: 0, bytes: 7, rows: 0 },
          { day: '2026-06-02', jobs: 0, bytes: 6, rows: 0 },
        ],
      },
    ]);
    expect((await (await api.partner()).call('GET', '/v1/usage')).json.days).toEqual([]);
    expect((await partner.call('GET', '/v1/usage?days=0')).status).toBe(422);
  });
});
