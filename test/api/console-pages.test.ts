/** What the API serves for the console: pages, assets, and the deep link. */
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { segmentOf } from '../../pipeline/stores/audiences.ts';
import { fromConsole, SESSION, signedIn, tokenOf, tokenOfOther, visit } from './console-support.ts';
import { AUDIENCE, logLines } from './support.ts';
import { useApi, usePartner } from './use-api.ts';

const api = useApi();
const partner = usePartner(api);

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
    '/console/requests',
    '/console/requests/1',
    '/console/new-request',
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
  it('signs in, and its address loses the token at once', async () => {
    const audience = await partner.createAudience({ customer: 'acme' });
    const token = await tokenOf(api, partner, 'acme');
    const visitor = visit(api);
    const path = `/console/segments/${segmentOf(audience)}`;
    const reply = await visitor.call('GET', `${path}?a=1&token=${token}&b=2`);
    expect([reply.status, reply.headers.get('location')]).toEqual([303, `${path}?a=1&b=2`]);
    expect(reply.headers.get('referrer-policy')).toBe('no-referrer');
    expect(reply.headers.get('cache-control')).toBe('no-store');
    expect(reply.text).not.toContain(token);
    expect((await visitor.call('GET', SESSION)).json).toMatchObject({
      partner_id: partner.id,
      customer: 'acme',
    });
    expect((await visitor.call('GET', `${AUDIENCE}/${audience}`)).status).toBe(200);
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
    // The issuer of a genuine expired link, so that the page can say whom to ask for another.
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
    await logLines(api.service, 'deep-link');
    const log = await readFile(api.service.log('api'), 'utf8');
    expect(log).not.toContain(token);
  });

  it('without a token is a page for whoever is signed in', async () => {
    expect((await get('/console/segments/7')).status).toBe(200);
    const visitor = await signedIn(api, { api_key: partner.key });
    expect((await visitor.call('GET', '/console/segments/7')).headers.getSetCookie()).toEqual([]);
    expect((await visitor.call('DELETE', SESSION, { headers: fromConsole })).status).toBe(204);
  });
});
