/** What the API serves for the console: pages, assets, and the deep link. */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ShareLink, sealShareLink } from '../../api/auth/share-links.ts';
import { keyIdOf } from '../../api/stores/api-keys.ts';
import { consoleSession, reportLink } from '../../schemas/http-answers.ts';
import { waitFor } from '../support/wait-for.ts';
import { fromConsole, SESSION, signedIn, tokenOf, tokenOfOther, visit } from './console-support.ts';
import { type Api, AUDIENCE, IMPORT, sharedApi, type TestPartner } from './support.ts';

let api: Api;
let partner: TestPartner;
beforeAll(async () => {
  api = await sharedApi();
  partner = await api.partner();
});
afterAll(() => api?.stop());

const get = (path: string, headers: Record<string, string> = {}) => visit(api).call('GET', path, { headers });
const assetsOf = (page: string) => [...page.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, path]) => path!);

describe('pages', () => {
  it.each([
    '/console/',
    '/console/sign-in',
    '/console/sign-in?reason=expired&next=/console/segments/1',
    '/console/audiences',
    '/console/segments/10000001',
    '/console/imports',
    '/console/imports/1',
    '/console/upload',
    '/console/webhooks',
    '/console/webhooks/1',
  ])('%s is the page', async (path) => {
    const page = await get(path);
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(page.text).toMatch(/^<!doctype html>/i);
    expect(page.headers.get('cache-control')).toBe('no-cache');
    const head = await visit(api).call('HEAD', path);
    expect([head.status, head.text, head.headers.get('etag')]).toEqual([200, '', page.headers.get('etag')]);
  });

  it.each([
    '/console/nowhere',
    '/console/segments/',
    '/console/segments/x',
    '/console/segments/01',
    '/console/imports/-1',
    '/console/imports/1/more',
    '/console/%00',
    '/console/%ff',
    '/console/<script>alert(1)</script>',
  ])('%s is a page that says so, with status 404', async (path) => {
    const page = await get(path);
    expect(page.status).toBe(404);
    expect(page.headers.get('content-type')).toMatch(/^text\/html/);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(page.text).not.toContain('alert(1)');
  });

  it.each([
    ['/console', '/console/'],
    ['/console/audiences/', '/console/audiences'],
    ['/console/imports/1/?a=b', '/console/imports/1?a=b'],
  ])('%s has its address at %s', async (path, address) => {
    const reply = await get(path);
    expect([reply.status, reply.headers.get('location')]).toEqual([308, address]);
  });

  it('other methods: 405', async () => {
    for (const path of ['/console/', '/console/audiences', '/console/segments/1', '/console/nowhere']) {
      const reply = await visit(api).call('POST', path);
      expect([path, reply.status, reply.headers.get('allow')]).toEqual([path, 405, 'GET, HEAD, OPTIONS']);
    }
    const session = await visit(api).call('PUT', SESSION);
    expect([session.status, session.headers.get('allow')]).toEqual([405, 'DELETE, GET, HEAD, OPTIONS, POST']);
  });

  it('load and run nothing but our own files, and tell nobody', async () => {
    const { headers, text } = await get('/console/');
    expect(headers.get('content-security-policy')).toBe(
      `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self' ${api.config.s3Endpoint}; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
    );
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('x-frame-options')).toBe('DENY');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('cross-origin-opener-policy')).toBe('same-origin');
    expect(headers.get('permissions-policy')).toContain('geolocation=()');
    expect(text).not.toMatch(/(?:src|href)="(?!\/console\/|data:)|<style|style=|<script>| on\w+=/);
  });

  it('are not sent again to a browser that has them', async () => {
    const etag = (await get('/console/')).headers.get('etag')!;
    const again = await get('/console/audiences', { 'if-none-match': etag });
    expect([again.status, again.text]).toEqual([304, '']);
    expect((await get('/console/nowhere', { 'if-none-match': etag })).status).toBe(404);
  });
});

describe('assets', () => {
  it('have the hash of their content in their name, and are kept for ever', async () => {
    const names = assetsOf((await get('/console/')).text);
    expect(names).toEqual([
      expect.stringMatching(/^\/console\/assets\/styles-[A-Z0-9]{8}\.css$/),
      expect.stringMatching(/^\/console\/assets\/main-[A-Z0-9]{8}\.js$/),
    ]);
    for (const name of names) {
      const asset = await get(name);
      expect([name, asset.status]).toEqual([name, 200]);
      expect(asset.headers.get('content-type')).toMatch(
        name.endsWith('.css') ? /^text\/css/ : /^text\/javascript/,
      );
      expect(asset.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      expect(asset.text).not.toContain('sourceMappingURL');
      expect((await get(`${name}.map`)).status).toBe(404);
      expect((await get(`${name}.br`)).status).toBe(404);
    }
  });

  it('are compressed as the browser asks for', async () => {
    const [name] = assetsOf((await get('/console/')).text).slice(-1);
    const plain = (await get(name!, { 'accept-encoding': 'identity' })).text;
    for (const [asked, given] of [
      ['br', 'br'],
      ['gzip, deflate, br, zstd', 'br'],
      ['gzip, br;q=0', 'gzip'],
      ['gzip', 'gzip'],
      ['identity', null],
    ] as const) {
      const asset = await get(name!, { 'accept-encoding': asked });
      expect([asked, asset.headers.get('content-encoding')]).toEqual([asked, given]);
      expect(asset.headers.get('vary')).toBe('Accept-Encoding');
      expect(asset.text).toBe(plain);
    }
  });

  it.each([
    '/console/assets/',
    '/console/assets/x.js',
    '/console/assets/..%2findex.html',
    '/console/assets/%2e%2e/x',
  ])('%s: 404', async (path) => {
    expect((await get(path)).status).toBe(404);
  });
});

describe('the deep link', () => {
  const segment = async (customer: string) => {
    const headers = { 'x-user-token': await tokenOf(api, partner, customer) };
    const body = { name: 'n', file_path: 'a' };
    return (await partner.call('POST', AUDIENCE, { body, headers })).json as {
      audience_id: number;
      default_warehouse_segment_id: number;
    };
  };

  it('signs in, and its address loses the token at once', async () => {
    const made = await segment('acme');
    const token = await tokenOf(api, partner, 'acme');
    const visitor = visit(api);
    const path = `/console/segments/${made.default_warehouse_segment_id}`;
    const reply = await visitor.call('GET', `${path}?a=1&token=${token}&b=2`);
    expect([reply.status, reply.headers.get('location')]).toEqual([303, `${path}?a=1&b=2`]);
    expect(reply.headers.get('referrer-policy')).toBe('no-referrer');
    expect(reply.headers.get('cache-control')).toBe('no-store');
    expect(reply.text).not.toContain(token);
    expect((await visitor.call('GET', SESSION)).json).toMatchObject({
      partner_id: partner.id,
      customer: 'acme',
    });
    expect((await visitor.call('GET', `${AUDIENCE}/${made.audience_id}`)).status).toBe(200);
  });

  const refused: [string, string, () => Promise<string>][] = [
    ['expired', 'expired', () => tokenOf(api, partner, 'c', '1 minute ago')],
    ['not signed by us', 'invalid', async () => 'a.b.c'],
    ['empty', 'invalid', async () => ''],
    ['of an unknown partner', 'invalid', () => tokenOfOther(api, partner, 'p-unknown')],
    ['given twice', 'invalid', async () => `${await tokenOf(api, partner, 'c')}&token=x`],
  ];

  it.each(refused)('%s: back to signing in (%s)', async (_, reason, make) => {
    const visitor = visit(api);
    const reply = await visitor.call('GET', `/console/segments/7?token=${await make()}`);
    // Who has sent a genuine link, for the page that says whom to ask for another.
    const from = reason === 'expired' ? '&from=[\\w-]+' : '';
    expect([reply.status, reply.headers.get('location')]).toEqual([
      303,
      expect.stringMatching(`^/console/sign-in\\?reason=${reason}&next=/console/segments/7${from}$`),
    ]);
    expect(reply.headers.get('referrer-policy')).toBe('no-referrer');
    expect(reply.headers.getSetCookie()).toEqual([]);
  });

  it.each(refused)('%s: whoever is signed in stays signed in, and sees the page', async (_, __, make) => {
    const visitor = await signedIn(api, { api_key: partner.key });
    const { cookie } = visitor;
    const reply = await visitor.call('GET', `/console/segments/7?token=${await make()}&a=1`);
    expect([reply.status, reply.headers.get('location')]).toEqual([303, '/console/segments/7?a=1']);
    expect(visitor.cookie).toBe(cookie);
    expect((await visitor.call('GET', SESSION)).json).toMatchObject({ customer: null });
  });

  it('of another customer or partner: whoever is signed in stays signed in, and is told', async () => {
    const other = await api.partner();
    for (const token of [
      await tokenOf(api, partner, 'bolt'),
      await tokenOf(api, other, 'acme'),
      await tokenOf(api, other, 'bolt'),
    ]) {
      const visitor = await signedIn(api, { user_token: await tokenOf(api, partner, 'acme') });
      const { cookie } = visitor;
      const reply = await visitor.call('GET', `/console/segments/7?token=${token}`);
      expect([reply.status, reply.headers.get('location')]).toEqual([303, '/console/sign-in?reason=other']);
      expect(visitor.cookie).toBe(cookie);
      expect((await visitor.call('GET', SESSION)).json).toMatchObject({ customer: 'acme' });
    }
  });

  it('of the same customer renews the session', async () => {
    const visitor = await signedIn(api, { user_token: await tokenOf(api, partner, 'acme', '10m') });
    const before = (await visitor.call('GET', SESSION)).json;
    const reply = await visitor.call(
      'GET',
      `/console/segments/7?token=${await tokenOf(api, partner, 'acme', '2h')}`,
    );
    expect(reply.headers.get('location')).toBe('/console/segments/7');
    const after = (await visitor.call('GET', SESSION)).json;
    expect(Date.parse(after.expires_at)).toBeGreaterThan(Date.parse(before.expires_at));
  });

  it('works until its token expires, also after signing out', async () => {
    const link = `/console/segments/7?token=${await tokenOf(api, partner, 'acme')}`;
    const visitor = visit(api);
    for (let i = 0; i < 2; i++) {
      await visitor.call('GET', link);
      expect((await visitor.call('GET', SESSION)).status).toBe(200);
      await visitor.call('DELETE', SESSION, { headers: fromConsole });
      expect((await visitor.call('GET', SESSION)).status).toBe(401);
    }
  });

  it('never leads to another site', async () => {
    for (const id of [
      '%2F%2Fevil.example',
      '..%2F..%2Fx',
      '%0d%0aSet-Cookie:%20a=b',
      'https:%2f%2fevil.example',
    ]) {
      for (const token of ['x', await tokenOf(api, partner, 'c')]) {
        const reply = await get(`/console/segments/${id}?token=${token}`);
        expect(reply.status).toBe(303);
        const { origin, pathname, searchParams } = new URL(
          reply.headers.get('location')!,
          api.service.apiUrl,
        );
        expect(origin).toBe(api.service.apiUrl);
        expect(searchParams.get('next') ?? pathname).toMatch(/^\/console\/segments\//);
      }
    }
  });

  it('leaves no token in the log', async () => {
    const token = await tokenOf(api, partner, 'acme');
    await get(`/console/segments/7?token=${token}`, { 'x-request-id': 'deep-link' });
    const log = await waitFor(
      async () => {
        const text = await readFile(api.service.log('api'), 'utf8');
        return text.includes('deep-link') ? text : null;
      },
      { what: 'the request in the log' },
    );
    expect(log).not.toContain(token);
  });

  it('without a token is a page for whoever is signed in', async () => {
    expect((await get('/console/segments/7')).status).toBe(200);
    const visitor = await signedIn(api, { api_key: partner.key });
    expect((await visitor.call('GET', '/console/segments/7')).headers.getSetCookie()).toEqual([]);
    expect((await visitor.call('DELETE', SESSION, { headers: fromConsole })).status).toBe(204);
  });
});

describe('a share link', () => {
  const made = async (customer?: string) => {
    const headers: Record<string, string> = customer
      ? { 'x-user-token': await tokenOf(api, partner, customer) }
      : {};
    const body = { name: 'n', file_path: 'secret/path.csv' };
    return (await partner.call('POST', AUDIENCE, { body, headers })).json.audience_id as number;
  };
  const share = (audience: number, options: Parameters<TestPartner['call']>[2] = {}) =>
    partner.call('POST', `${AUDIENCE}/${audience}/composition/share`, options);
  const opened = async (url: string) => {
    const visitor = visit(api);
    return { visitor, reply: await visitor.call('GET', url) };
  };
  const sealed = (link: Partial<ShareLink>) =>
    sealShareLink(api.config.secret, {
      partner: partner.id,
      audience: 1,
      key: keyIdOf(partner.key)!,
      expiresAt: Date.now() + 60_000,
      ...link,
    });

  it('reads its own report, and can neither read nor change anything else', async () => {
    const [audience, other] = [await made('acme'), await made('acme')];
    const link = reportLink.parse((await share(audience, { body: { expires_in: 3_600 } })).json);
    const left = Date.parse(link.expires_at) - Date.now();
    expect(left).toBeGreaterThan(3_500_000);
    expect(left).toBeLessThanOrEqual(3_600_000);
    const { visitor, reply } = await opened(link.url);
    const page = `/console/segments/${10_000_000 + audience}`;
    expect([reply.status, reply.headers.get('location')]).toEqual([303, page]);
    const session = consoleSession.parse((await visitor.call('GET', SESSION)).json);
    expect(session).toMatchObject({ customer: 'acme', shared_segment_id: 10_000_000 + audience });
    expect(Date.parse(session.expires_at!)).toBeLessThanOrEqual(Date.parse(link.expires_at));

    const list = (await visitor.call('GET', `${AUDIENCE}?segment_id=${10_000_000 + other}`)).json;
    expect(list.map((one: { audience_id: number }) => one.audience_id)).toEqual([audience]);
    expect((await visitor.call('GET', `${AUDIENCE}/${audience}/composition`)).status).toBe(200);
    expect((await visitor.call('GET', `${AUDIENCE}/${audience}/composition/overlaps`)).status).toBe(200);
    const loads = await visitor.call('GET', `${AUDIENCE}/${audience}/loads`);
    expect([loads.status, loads.json[0].file_path]).toEqual([200, '']);
    expect(loads.text).not.toContain('secret');

    const refused: [string, string, number?][] = [
      ['GET', `${AUDIENCE}/${audience}`, 403],
      ['GET', `${AUDIENCE}/${audience}/files`, 403],
      ['GET', `${AUDIENCE}/${audience}/rejects`, 403],
      ['GET', `${AUDIENCE}/events`, 403],
      ['GET', IMPORT, 403],
      ['GET', '/v1/marketplace/attribute', 403],
      ['GET', `${AUDIENCE}/${other}/composition`, 404],
      ['GET', `${AUDIENCE}/${other}/loads`, 404],
      ['GET', `${AUDIENCE}/0${audience}/composition`, 404],
      ['POST', `${AUDIENCE}/${audience}/composition`, 403],
      ['POST', `${AUDIENCE}/${audience}/composition/share`, 403],
      ['POST', AUDIENCE],
      ['PATCH', `${AUDIENCE}/${audience}`],
      ['PUT', `${AUDIENCE}/${audience}`],
      ['DELETE', `${AUDIENCE}/${audience}`],
      ['POST', IMPORT],
    ];
    const jobs = await api.jobs.countDocuments({ partner: partner.id });
    for (const [method, path, status] of refused) {
      const options = method === 'GET' ? {} : { body: {}, headers: fromConsole };
      const { status: found } = await visitor.call(method, path, options);
      expect([method, path, status ? [status] : [401, 403]]).toEqual([
        method,
        path,
        expect.arrayContaining([found]),
      ]);
    }
    expect(await api.jobs.countDocuments({ partner: partner.id })).toBe(jobs);
  });

  it('is made by the partner, with a key or from a session of one, and by nobody else', async () => {
    const audience = await made('acme');
    const path = `${AUDIENCE}/${audience}/composition/share`;
    const bySession = await signedIn(api, { api_key: partner.key });
    expect((await bySession.call('POST', path, { body: {}, headers: fromConsole })).status).toBe(201);
    expect((await bySession.call('POST', path, { body: {} })).status).toBe(403);
    const customer = await signedIn(api, { user_token: await tokenOf(api, partner, 'acme') });
    expect((await customer.call('POST', path, { body: {}, headers: fromConsole })).status).toBe(403);
    const foreign = { 'x-user-token': await tokenOf(api, partner, 'other') };
    expect((await share(audience, { headers: foreign })).status).toBe(404);
    expect((await (await api.partner()).call('POST', path)).status).toBe(404);
    expect((await share(audience)).status).toBe(201);
    for (const expires_in of [0, 59, 30 * 86_400 + 1, 1.5, '60'])
      expect([expires_in, (await share(audience, { body: { expires_in } })).status]).toEqual([
        expires_in,
        422,
      ]);
  });

  it.each<[string, string, () => Promise<Partial<ShareLink>> | Partial<ShareLink>]>([
    ['has expired', 'expired', async () => ({ audience: await made(), expiresAt: Date.now() - 1 })],
    ['is of an audience that is gone', 'expired', () => ({ audience: 987_654_321 })],
    [
      'was made with a key that is gone',
      'expired',
      async () => ({ audience: await made(), key: 'aaaaaaaa' }),
    ],
  ])('that %s says whom to ask', async (_, reason, link) => {
    const { reply } = await opened(`/console/segments/10000001?share=${sealed(await link())}`);
    const to = new URL(reply.headers.get('location')!, 'http://x');
    expect([reply.status, to.pathname, to.searchParams.get('reason')]).toEqual([
      303,
      '/console/sign-in',
      reason,
    ]);
    expect(reply.headers.getSetCookie()).toEqual([]);
    const sender = await get(`/console/sender?from=${to.searchParams.get('from')}`);
    expect([sender.status, sender.json]).toEqual([200, { partner_name: 'test' }]);
  });

  it.each(['', 'x', 'a.b.c', 'A'.repeat(5_000)])('cannot be made up: “%s”', async (share) => {
    const { reply } = await opened(`/console/segments/10000001?share=${share}`);
    expect(reply.headers.get('location')).toBe(
      '/console/sign-in?reason=invalid&next=/console/segments/10000001',
    );
    expect((await get(`/console/sender?from=${share}`)).status).toBe(404);
  });

  it('cannot be altered, nor used as another kind of secret', async () => {
    const audience = await made();
    const good = sealed({ audience });
    const bytes = Buffer.from(good, 'base64url');
    bytes[bytes.length - 1]! ^= 1;
    const { reply } = await opened(`/console/segments/1?share=${bytes.toString('base64url')}`);
    expect(reply.headers.get('location')).toContain('reason=invalid');
    const visitor = visit(api);
    visitor.cookie = `headrace_session=${good}`;
    expect((await visitor.call('GET', SESSION)).status).toBe(401);
    expect((await get(`/console/sender?from=${good}`)).status).toBe(404);
  });

  it('keeps the session of an account, and replaces that of another link', async () => {
    const [one, two] = [await made('acme'), await made('bolt')];
    const urls = [(await share(one)).json.url, (await share(two)).json.url] as string[];
    const { visitor } = await opened(urls[0]!);
    await visitor.call('GET', urls[1]!);
    expect((await visitor.call('GET', SESSION)).json.shared_segment_id).toBe(10_000_000 + two);
    const account = await signedIn(api, { user_token: await tokenOf(api, partner, 'acme') });
    const { cookie } = account;
    const own = await account.call('GET', urls[0]!);
    expect(own.headers.get('location')).toBe(`/console/segments/${10_000_000 + one}`);
    const foreign = await account.call('GET', urls[1]!);
    expect(foreign.headers.get('location')).toBe('/console/sign-in?reason=other');
    expect(account.cookie).toBe(cookie);
  });
});
