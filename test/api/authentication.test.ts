/** Keys, user tokens, and who sees what. */
import { describe, expect, it } from 'vitest';
import { signUserToken } from '../../api/auth/user-tokens.ts';
import { createApiKeyStore } from '../../api/stores/api-keys.ts';
import { createTokenKeyStore } from '../../api/stores/token-keys.ts';
import { collections } from '../../schemas/documents.ts';
import type { ApiKeyDocument, TokenKeyDocument } from '../../schemas/partner-documents.ts';
import { waitFor } from '../support/wait-for.ts';
import { fromConsole, SESSION, signedIn, tokenOfOther } from './console-support.ts';
import { openRaw, rawRequest } from './raw-socket.ts';
import { AUDIENCE, createCaller, IMPORT } from './support.ts';
import { useApi, usePartner } from './use-api.ts';

const api = useApi();
const partner = usePartner(api);
const other = usePartner(api);

const withToken = async (customer: string, who = partner) => ({
  'x-user-token': await api.token(who.id, customer),
});

describe('API keys', () => {
  it.each([
    ['another scheme', 'Basic abc'],
    ['no scheme', 'hr_abcdefgh'],
    ['an empty key', 'Bearer '],
    ['a malformed key', 'Bearer hr_x_y'],
    ['an unknown key', `Bearer hr_aaaaaaaa_${'A'.repeat(43)}`],
    ['an operator', 'Bearer {"$ne":null}'],
    ['two keys', 'Bearer a, Bearer b'],
  ])('%s: 401', async (_, authorization) => {
    expect((await api.anonymous('GET', IMPORT, { headers: { authorization } })).status).toBe(401);
  });

  it('the right readable part with a wrong secret: 401', async () => {
    const wrong = partner.key.slice(0, -1) + (partner.key.endsWith('A') ? 'B' : 'A');
    const forged = `${partner.key.slice(0, 12)}${'x'.repeat(43)}`;
    for (const key of [wrong, forged])
      expect((await createCaller(api.service.apiUrl, key)('GET', IMPORT)).status).toBe(401);
  });

  it('the scheme’s case does not matter', async () => {
    const headers = { authorization: `bearer ${partner.key}` };
    expect((await api.anonymous('GET', IMPORT, { headers })).status).toBe(200);
  });

  it('a second Authorization header: 401', async () => {
    const connection = await openRaw(api.service.apiUrl);
    connection.send(rawRequest('GET', IMPORT, partner.key, [`Authorization: Bearer ${other.key}`]));
    expect(await connection.closed).toMatch(/^HTTP\/1\.1 401 /);
  });

  it('are stored as a keyed hash alone', async () => {
    const stored = await api.db.collection<ApiKeyDocument>(collections.apiKeys).find().toArray();
    const secret = partner.key.slice(12);
    expect(stored.length).toBeGreaterThan(0);
    expect(JSON.stringify(stored)).not.toContain(secret);
    expect(stored.some(({ hash }) => Buffer.from(hash.buffer).includes(secret))).toBe(false);
    expect(partner.key).toMatch(/^hr_[a-z0-9]{8}_[A-Za-z0-9_-]{43}$/);
  });

  it('revoked: refused soon, the partner’s other keys not', async () => {
    const apiKeys = createApiKeyStore(api.db);
    const { id, key } = await apiKeys.create(api.config.secret, partner.id, 'second');
    const call = createCaller(api.service.apiUrl, key);
    expect((await call('GET', IMPORT)).status).toBe(200);
    await apiKeys.revoke(`hr_${id}`);
    await waitFor(async () => (await call('GET', IMPORT)).status === 401, {
      what: 'the revoked key to be refused',
    });
    expect((await partner.call('GET', IMPORT)).status).toBe(200);
  });
});

describe('user tokens', () => {
  it('absent: the call acts for the whole partner; valid: for the customer alone', async () => {
    const ids = async (headers = {}) =>
      (await partner.call('GET', AUDIENCE, { headers })).json.map(
        (each: { audience_id: number }) => each.audience_id,
      );
    const acme = await withToken('acme');
    const bolt = await withToken('bolt');
    const [ofPartner, ofAcme, ofBolt] = [
      await partner.createAudience(),
      await partner.createAudience({ customer: 'acme' }),
      await partner.createAudience({ customer: 'bolt' }),
    ];
    expect(await ids()).toEqual(expect.arrayContaining([ofPartner, ofAcme, ofBolt]));
    expect(await ids(acme)).toEqual([ofAcme]);
    expect(await ids(bolt)).toEqual([ofBolt]);
    for (const id of [ofPartner, ofBolt])
      for (const [method, suffix] of [
        ['GET', ''],
        ['PATCH', ''],
        ['PUT', ''],
        ['GET', '/files'],
        ['GET', '/rejects'],
        ['GET', '/loads'],
        ['GET', `/loads/${id}`],
      ]) {
        const reply = await partner.call(method!, `${AUDIENCE}/${id}${suffix}`, {
          headers: acme,
          ...(method === 'PATCH' ? { body: { file_path: 'a' } } : {}),
        });
        expect(reply.status).toBe(404);
      }
    expect((await partner.call('PUT', `${AUDIENCE}/${ofAcme}`, { headers: acme })).status).toBe(204);
  });

  it.each([
    ['not a token', async () => 'x'],
    ['empty', async () => ''],
    ['of another partner', () => api.token(other.id, 'c')],
    ['of another partner, in our name', () => tokenOfOther(api, other, partner.id)],
    ['with an operator as customer', () => api.token(partner.id, { $ne: null } as never)],
  ])('%s: 401', async (_, make) => {
    const reply = await partner.call('GET', AUDIENCE, { headers: { 'x-user-token': await make() } });
    expect(reply.status).toBe(401);
    expect(reply.json.code).toBe('bad_user_token');
    expect(reply.headers.get('www-authenticate')).toMatch(/^Bearer/);
  });
});

describe('keys of user tokens', () => {
  const status = async (userToken: string) =>
    (await partner.call('GET', AUDIENCE, { headers: { 'x-user-token': userToken } })).status;

  it('a rotated one stays valid until it is retired; then its tokens and sessions end, and no others', async () => {
    const tokenKeys = createTokenKeyStore(api.db);
    const old = await tokenKeys.create(api.config.secret, partner.id);
    const { made } = await tokenKeys.rotate(api.config.secret, old.id);
    const tokens = await Promise.all([old, made].map((key) => signUserToken(key, 'c', '1h', api.config)));
    const [before, after] = tokens as [string, string];
    const [ending, lasting] = [
      await signedIn(api, { user_token: before }),
      await signedIn(api, { user_token: after }),
    ];
    expect([await status(before), await status(after)]).toEqual([200, 200]);
    const stream = await fetch(`${api.service.apiUrl}${AUDIENCE}/events`, {
      headers: { authorization: `Bearer ${partner.key}`, 'x-user-token': before },
    });
    expect(stream.status).toBe(200);

    await tokenKeys.retire(old.id);
    await waitFor(async () => (await status(before)) === 401, { what: 'the retired key to be refused' });
    await waitFor(async () => (await ending.call('GET', SESSION)).status === 401, {
      what: 'the session of the retired key to end',
    });
    // The stream ends on its own.
    await stream.text();
    const again = await api.anonymous('POST', SESSION, {
      body: { user_token: before },
      headers: fromConsole,
    });
    expect([again.status, again.json.code]).toEqual([401, 'bad_user_token']);
    expect(await status(after)).toBe(200);
    expect((await lasting.call('GET', SESSION)).status).toBe(200);
  });

  it('are stored encrypted', async () => {
    const { secret } = await api.token.keyOf(partner.id);
    const stored = await api.db.collection<TokenKeyDocument>(collections.tokenKeys).find().toArray();
    expect(stored.length).toBeGreaterThan(0);
    expect(stored.some(({ sealed }) => Buffer.from(sealed.buffer).includes(secret))).toBe(false);
    expect(JSON.stringify(stored)).not.toContain(secret);
  });
});

describe('isolation', () => {
  it('somebody else’s id and no id give the same 404, on every route', async () => {
    const importId = await other.queueImport();
    const audienceId = await other.createAudience();
    const routes: [string, (id: number) => string, unknown?][] = [
      ['GET', (id) => `${IMPORT}/${id}`],
      ['GET', (id) => `${IMPORT}/${id}/files`],
      ['GET', (id) => `${IMPORT}/${id}/rejects`],
      ['GET', (id) => `${IMPORT}/${id}/progress`],
      ...['/v1/firstparty/audience', AUDIENCE].flatMap(
        (path): [string, (id: number) => string, unknown?][] => [
          ['GET', (id) => `${path}/${id}`],
          ['GET', (id) => `${path}/${id}/files`],
          ['GET', (id) => `${path}/${id}/rejects`],
          ['GET', (id) => `${path}/${id}/loads`],
          ['GET', (id) => `${path}/${id}/loads/${id}`],
          ['GET', (id) => `${path}/${id}/loads/${id}/progress`],
          ['PATCH', (id) => `${path}/${id}`, { file_path: 'a' }],
          ['PUT', (id) => `${path}/${id}`],
        ],
      ),
    ];
    const before = await api.jobs.countDocuments({ partner: partner.id });
    for (const [method, path, body] of routes) {
      const id = path(0).startsWith(IMPORT) ? importId : audienceId;
      const [theirs, none] = [
        await partner.call(method, path(id), { body }),
        await partner.call(method, path(987_654_321), { body }),
      ];
      expect([theirs.status, none.status]).toEqual([404, 404]);
      const { instance: _, ...first } = theirs.json;
      const { instance: __, ...second } = none.json;
      expect(first).toEqual(second);
    }
    expect(await api.jobs.countDocuments({ partner: partner.id })).toBe(before);
    // Loads are no import logs, and imports are no audiences.
    expect((await other.call('GET', `${IMPORT}/${audienceId}`)).status).toBe(404);
    expect((await other.call('GET', `${AUDIENCE}/${importId}`)).status).toBe(404);
  });
});
