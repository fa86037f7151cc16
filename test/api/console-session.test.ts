/** Sessions of the console: how they begin and end, and what they allow. */
import { describe, expect, it } from 'vitest';
import { sealSession } from '../../api/auth/session-cookie.ts';
import { createApiKeyStore } from '../../api/stores/api-keys.ts';
import { consoleSession } from '../../schemas/http-console.ts';
import { waitFor } from '../support/wait-for.ts';
import { cookieOf, fromConsole, SESSION, signedIn, tokenOf, tokenOfOther, visit } from './console-support.ts';
import { AUDIENCE, IMPORT, startApi } from './support.ts';
import { useApi, usePartner } from './use-api.ts';

const oldSecret = Buffer.alloc(32, 7);
const api = useApi(() =>
  startApi({
    HEADRACE_SECRET_OLD: oldSecret.toString('base64'),
  }),
);
const partner = usePartner(api);

const sessionOf = (customer: string) => ({
  id: 'i',
  partner: partner.id,
  customer,
  key: null,
  tokenKey: null,
  expiresAt: Date.now() + 600_000,
});
const idsOf = (audiences: { audience_id: number }[]) => audiences.map(({ audience_id }) => audience_id);

describe('signing in', () => {
  it('with an API key: a cookie that reads what the partner may read', async () => {
    const id = await partner.createAudience();
    const visitor = visit(api);
    const reply = await visitor.call('POST', SESSION, {
      body: { api_key: partner.key },
      headers: fromConsole,
    });
    expect([reply.status, reply.text]).toEqual([204, '']);
    expect(reply.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^headrace_session=[\w-]+; Path=\/; Max-Age=28\d{3}; HttpOnly; SameSite=Lax$/),
    ]);
    expect(reply.headers.get('cache-control')).toBe('no-store');
    expect(visitor.cookie).not.toContain(partner.id);
    const who = await visitor.call('GET', SESSION);
    expect(consoleSession.parse(who.json)).toMatchObject({
      partner_id: partner.id,
      partner_name: 'test',
      customer: null,
    });
    expect((await visitor.call('GET', IMPORT)).status).toBe(200);
    expect(idsOf((await visitor.call('GET', AUDIENCE)).json)).toContain(id);
    expect((await visitor.call('GET', `${AUDIENCE}/${id}`)).json.audience_id).toBe(id);
    expect((await visitor.call('HEAD', `${AUDIENCE}/${id}`)).status).toBe(200);
  });

  it('with a user token: the audiences of that customer alone, never longer than the token', async () => {
    const [mine, theirs] = [
      await partner.createAudience({ customer: 'acme' }),
      await partner.createAudience({ customer: 'bolt' }),
    ];
    const user_token = await tokenOf(api, partner, 'acme', '10m');
    const visitor = await signedIn(api, { user_token });
    const who = consoleSession.parse((await visitor.call('GET', SESSION)).json);
    expect(who).toMatchObject({ partner_id: partner.id, customer: 'acme' });
    expect(Date.parse(who.expires_at!)).toBeLessThanOrEqual(Date.now() + 600_000);
    expect(idsOf((await visitor.call('GET', AUDIENCE)).json)).toEqual([mine]);
    for (const path of ['', '/files', '/rejects', '/loads'])
      expect((await visitor.call('GET', `${AUDIENCE}/${theirs}${path}`)).status).toBe(404);
    for (const path of [IMPORT, `${IMPORT}/1`, `${IMPORT}/1/files`]) {
      const reply = await visitor.call('GET', path);
      expect([reply.status, reply.json.code]).toEqual([403, 'forbidden']);
    }
  });

  it.each<[string, () => Promise<unknown> | unknown, number]>([
    ['an unknown key', () => ({ api_key: `hr_aaaaaaaa_${'A'.repeat(43)}` }), 401],
    ['no key at all', () => ({ api_key: '' }), 401],
    ['a token as a key', async () => ({ api_key: await tokenOf(api, partner, 'c') }), 401],
    ['a token that nobody signed', () => ({ user_token: 'a.b.c' }), 401],
    ['an expired token', async () => ({ user_token: await tokenOf(api, partner, 'c', '1 minute ago') }), 401],
    ['a token of nobody', async () => ({ user_token: await tokenOfOther(api, partner, 'p-x') }), 401],
    [
      'a token of an endless name',
      async () => ({ user_token: await tokenOf(api, partner, 'c'.repeat(5_000)) }),
      401,
    ],
    ['neither', () => ({}), 422],
    ['both', async () => ({ api_key: partner.key, user_token: await tokenOf(api, partner, 'c') }), 422],
    ['an operator', () => ({ api_key: { $ne: null } }), 422],
  ])('with %s: refused, and no cookie', async (_, make, status) => {
    const visitor = visit(api);
    const reply = await visitor.call('POST', SESSION, { body: await make(), headers: fromConsole });
    expect([reply.status, reply.headers.getSetCookie()]).toEqual([status, []]);
    expect(reply.headers.get('content-type')).toMatch(/^application\/problem\+json/);
  });

  it('Secure behind a proxy that speaks https', async () => {
    const proxied = await startApi({ HEADRACE_TRUSTED_PROXIES: '1' });
    try {
      const { key } = await proxied.partner();
      for (const [proto, isSecure] of [
        ['https', true],
        ['http', false],
      ] as const) {
        const headers = { ...fromConsole, 'x-forwarded-proto': proto };
        const reply = await proxied.anonymous('POST', SESSION, { body: { api_key: key }, headers });
        expect([proto, /; Secure$/.test(reply.headers.getSetCookie()[0]!)]).toEqual([proto, isSecure]);
      }
    } finally {
      await proxied.stop();
    }
  });
});

describe('a session', () => {
  it('may have a report computed again, from our own pages alone', async () => {
    const [mine, theirs] = [
      await partner.createAudience({ customer: 'acme' }),
      await partner.createAudience({ customer: 'bolt' }),
    ];
    const visitor = await signedIn(api, { user_token: await tokenOf(api, partner, 'acme') });
    const compute = async (id: number, headers = {}) =>
      (await visitor.call('POST', `${AUDIENCE}/${id}/composition`, { headers })).status;
    expect(await compute(mine)).toBe(403);
    expect(await compute(mine, { ...fromConsole, 'sec-fetch-site': 'cross-site' })).toBe(403);
    expect(await compute(theirs, fromConsole)).toBe(404);
    expect(await compute(mine, fromConsole)).toBe(202);
  });

  it('gives way to an Authorization header', async () => {
    const [mine, theirs] = [
      await partner.createAudience({ customer: 'acme' }),
      await partner.createAudience({ customer: 'bolt' }),
    ];
    const visitor = await signedIn(api, { user_token: await tokenOf(api, partner, 'acme') });
    const headers = { authorization: `Bearer ${partner.key}` };
    expect(idsOf((await visitor.call('GET', AUDIENCE, { headers })).json)).toEqual(
      expect.arrayContaining([mine, theirs]),
    );
    const wrong = { authorization: `Bearer hr_aaaaaaaa_${'A'.repeat(43)}` };
    expect((await visitor.call('GET', AUDIENCE, { headers: wrong })).status).toBe(401);
    expect((await visitor.call('GET', AUDIENCE, { headers: { authorization: '' } })).status).toBe(401);
  });

  it('ends when its API key is revoked, and no other one does', async () => {
    const apiKeys = createApiKeyStore(api.db);
    const { id, key } = await apiKeys.create(api.config.secret, partner.id, 'second');
    const [ended, lasting] = [
      await signedIn(api, { api_key: key }),
      await signedIn(api, { api_key: partner.key }),
    ];
    expect((await ended.call('GET', IMPORT)).status).toBe(200);
    await apiKeys.revoke(`hr_${id}`);
    await waitFor(async () => (await ended.call('GET', IMPORT)).status === 401, {
      what: 'the session of the revoked key to be refused',
    });
    expect((await ended.call('GET', SESSION)).status).toBe(401);
    expect((await lasting.call('GET', IMPORT)).status).toBe(200);
  });

  it('ends with its time', async () => {
    const visitor = visit(api);
    const endingIn = (ms: number) => {
      const content = { ...sessionOf('c'), expiresAt: Date.now() + ms };
      visitor.cookie = `headrace_session=${sealSession(api.config.secret, content)}`;
    };
    endingIn(600_000);
    expect((await visitor.call('GET', AUDIENCE)).status).toBe(200);
    endingIn(1_000);
    await waitFor(async () => (await visitor.call('GET', AUDIENCE)).status === 401, {
      what: 'the session to end',
    });
  });

  it('outlives the change of the secret', async () => {
    const visitor = visit(api);
    const content = sessionOf('c');
    visitor.cookie = `headrace_session=${sealSession(oldSecret, content)}`;
    expect((await visitor.call('GET', SESSION)).json.customer).toBe('c');
    visitor.cookie = `headrace_session=${sealSession(Buffer.alloc(32, 8), content)}`;
    expect((await visitor.call('GET', SESSION)).status).toBe(401);
  });
});

describe('signing out', () => {
  it('takes the cookie away, and a copy of it is worth nothing', async () => {
    const visitor = await signedIn(api, { api_key: partner.key });
    const another = await signedIn(api, { api_key: partner.key });
    const { cookie } = visitor;
    expect((await visitor.call('GET', SESSION)).status).toBe(200);
    const reply = await visitor.call('DELETE', SESSION, { headers: fromConsole });
    expect([reply.status, cookieOf(reply.headers)]).toEqual([204, 'headrace_session=']);
    expect(reply.headers.getSetCookie()[0]).toContain('Max-Age=0');
    expect((await visitor.call('GET', SESSION)).status).toBe(401);
    for (const path of [SESSION, IMPORT])
      expect((await api.anonymous('GET', path, { headers: { cookie } })).status).toBe(401);
    expect((await another.call('GET', SESSION)).status).toBe(200);
  });

  it('works for whoever is signed out already', async () => {
    expect((await visit(api).call('DELETE', SESSION, { headers: fromConsole })).status).toBe(204);
  });
});

describe('limits', () => {
  it('wrong keys and tokens are counted together, by address; requests by key', async () => {
    const small = await startApi({
      // One comes back every 30 seconds.
      HEADRACE_TEST_WRONG_KEYS_PER_MINUTE: '2',
      HEADRACE_TRUSTED_PROXIES: '1',
      HEADRACE_RATE_PER_SECOND: '1',
      HEADRACE_TEST_RATE_BURST_SECONDS: '10',
    });
    try {
      const someone = await small.partner();
      const from = (address: string) => ({ ...fromConsole, 'x-forwarded-for': address });
      const guess = async (number: number) => {
        const body =
          number % 2 === 0
            ? { user_token: `a.b.${number}` }
            : { api_key: `hr_${String(number).padStart(8, 'a')}_${'A'.repeat(43)}` };
        return (await small.anonymous('POST', SESSION, { body, headers: from('192.0.2.1') })).status;
      };
      const statuses = [];
      for (let i = 0; i < 10; i++) statuses.push(await guess(i));
      expect(statuses).toEqual([401, 401, ...Array(8).fill(429)]);
      const link = `/console/segments/1?token=${await tokenOf(small, someone, 'c')}`;
      const open = (address: string) =>
        visit(small).call('GET', link, { headers: { 'x-forwarded-for': address } });
      expect((await open('192.0.2.1')).status).toBe(429);
      expect((await open('192.0.2.2')).status).toBe(303);

      const sessions = [
        await signedIn(small, { api_key: someone.key }),
        await signedIn(small, { api_key: someone.key }),
      ];
      const reads = await Promise.all(
        Array.from({ length: 100 }, (_, i) => sessions[i % 2]!.call('GET', IMPORT)),
      );
      expect(reads.filter(({ status }) => status === 429).length).toBeGreaterThan(10);
      // The partner's own rate limit is separate from that of console users.
      expect((await someone.call('GET', IMPORT)).status).toBe(200);
    } finally {
      await small.stop();
    }
  });
});
