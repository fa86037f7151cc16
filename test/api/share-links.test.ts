/** A share link shows one report, read-only, to people without an account. */
import { describe, expect, it } from 'vitest';
import { type ShareLink, sealShareLink } from '../../api/auth/share-links.ts';
import { keyIdOf } from '../../api/stores/api-keys.ts';
import { reportLink } from '../../schemas/http-answers.ts';
import { consoleSession } from '../../schemas/http-console.ts';
import { fromConsole, SESSION, signedIn, tokenOf, visit } from './console-support.ts';
import { AUDIENCE, IMPORT, type TestPartner } from './support.ts';
import { useApi, usePartner } from './use-api.ts';

const api = useApi();
const partner = usePartner(api);

const get = (path: string) => visit(api).call('GET', path);

describe('a share link', () => {
  const made = (customer?: string) => partner.createAudience({ file_path: 'secret/path.csv', customer });
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

  it('can only be made by the partner, with an API key or a session of one', async () => {
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
