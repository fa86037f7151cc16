/** API keys: expiry, scopes, and rotation without a gap. */
import { describe, expect, it } from 'vitest';
import { createApiKeyStore } from '../../api/stores/api-keys.ts';
import { waitFor } from '../support/wait-for.ts';
import { adminCommands } from './admin-commands.ts';
import { createCaller, IMPORT } from './support.ts';
import { useApi, usePartner } from './use-api.ts';

const api = useApi();
const partner = usePartner(api);

const call = (key: string) => createCaller(api.service.apiUrl, key);
const { json: admin, refused, misused } = adminCommands(() => api.service.env, 'key');
const HOOKS = '/v1/webhooks';
const DAY_MS = 86_400_000;
/** The key's lifetime, rounded to the hour: on a slow machine the two times are not taken at the same moment. */
const lifetimeOf = ({ created_at, expires_at }: { created_at: string; expires_at: string }) =>
  Math.round((Date.parse(expires_at) - Date.parse(created_at)) / 3_600_000) * 3_600_000;
const listed = async (key: string) =>
  (await admin('list', '--partner', partner.id)).find((each: { key: string }) => key.startsWith(each.key));

describe('scopes', () => {
  it('several may be given; a console session needs read, and has the scopes of its key', async () => {
    const two = await admin('create', '--partner', partner.id, '--scopes', 'audience,import');
    expect((await listed(two.api_key)).scopes).toEqual(['import', 'audience']);
    expect((await listed(partner.key)).scopes).toEqual(['read', 'import', 'audience', 'webhook', 'privacy']);
    const signIn = (api_key: string) =>
      api.anonymous('POST', '/console/session', {
        body: { api_key },
        headers: { 'x-headrace-console': '1' },
      });
    expect((await signIn(two.api_key)).json.code).toBe('insufficient_scope');
    /** The status of imports and of the webhook for a session of this key. */
    const seenBy = async (api_key: string) => {
      const signedIn = await signIn(api_key);
      expect(signedIn.status).toBe(204);
      const cookie = signedIn.headers.getSetCookie()[0]!.split(';', 1)[0]!;
      const get = (path: string) => api.anonymous('GET', path, { headers: { cookie } });
      return [(await get(IMPORT)).status, (await get(HOOKS)).status];
    };
    expect(await seenBy(partner.key)).toEqual([200, (await partner.call('GET', HOOKS)).status]);
    const reader = await admin('create', '--partner', partner.id, '--scopes', 'read');
    expect(await seenBy(reader.api_key)).toEqual([200, 403]);
    expect(await misused('create', '--partner', partner.id, '--scopes', 'write')).toContain(
      'expected one or more of read,import,audience,webhook',
    );
  });
});

describe('expiry', () => {
  it('401 key_expired, for whoever has the whole key', async () => {
    const apiKeys = createApiKeyStore(api.db);
    const over = { expiresAt: new Date(Date.now() - 1_000) };
    const { key } = await apiKeys.create(api.config.secret, partner.id, 'over', over);
    const reply = await call(key)('GET', IMPORT);
    expect([reply.status, reply.json.code]).toEqual([401, 'key_expired']);
    expect(reply.headers.get('www-authenticate')).toMatch(/^Bearer .*error="invalid_token"/);
    const guessed = await call(`${key.slice(0, 12)}${'x'.repeat(43)}`)('GET', IMPORT);
    expect([guessed.status, guessed.json.code]).toEqual([401, 'unauthorized']);
  });

  it('--expires 90d; without it, never', async () => {
    const created = await admin('create', '--partner', partner.id, '--expires', '90d', '--label', 'quarter');
    expect((await call(created.api_key)('GET', IMPORT)).status).toBe(200);
    const stored = await listed(created.api_key);
    expect(stored).toMatchObject({ label: 'quarter', expires_at: created.expires_at });
    expect(lifetimeOf(stored)).toBe(90 * DAY_MS);
    expect((await listed(partner.key)).expires_at).toBeNull();
    expect(await misused('create', '--partner', partner.id, '--expires', 'soon')).toContain("'--expires");
  });
});

describe('rotation', () => {
  it('the new key works at once, the old one until its time; label, scopes and lifetime stay', async () => {
    const old = await admin(
      ...['create', '--partner', partner.id, '--label', 'nightly', '--scopes', 'read', '--expires', '30d'],
    );
    const created = await admin('rotate', '--key', old.key, '--overlap', '2h');
    expect((await call(created.api_key)('GET', IMPORT)).status).toBe(200);
    expect((await call(old.api_key)('GET', IMPORT)).status).toBe(200);
    expect(created).toMatchObject({ partner_id: partner.id, replaces: old.key });
    const [now, before] = [await listed(created.api_key), await listed(old.api_key)];
    expect(now).toMatchObject({ label: 'nightly', scopes: ['read'] });
    expect(lifetimeOf(now)).toBe(30 * DAY_MS);
    expect(before.expires_at).toBe(created.replaced_expires_at);
    expect(Date.parse(before.expires_at)).toBeLessThan(Date.parse(old.expires_at));
    expect(await refused('rotate', '--key', old.key)).toContain(`rotated to ${created.key}`);
  });

  it('without an overlap the old key is refused within seconds', async () => {
    const old = await admin('create', '--partner', partner.id);
    expect((await call(old.api_key)('GET', IMPORT)).status).toBe(200);
    const created = await admin('rotate', '--key', old.key, '--overlap', '0s', '--expires', '7d');
    expect(lifetimeOf(await listed(created.api_key))).toBe(7 * DAY_MS);
    await waitFor(async () => (await call(old.api_key)('GET', IMPORT)).json.code === 'key_expired', {
      what: 'the old key to be refused',
    });
    expect((await call(created.api_key)('GET', IMPORT)).status).toBe(200);
  });

  it('of a key that is unknown or revoked is refused', async () => {
    const { key } = await admin('create', '--partner', partner.id);
    await admin('revoke', '--yes', '--key', key);
    expect(await refused('rotate', '--key', key)).toContain('has been revoked');
    expect(await refused('rotate', '--key', 'hr_nothere1')).toContain('no API key hr_nothere1');
  });
});
