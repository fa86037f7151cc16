/** The pages in a real browser: each enforces the content security policy, and a deep link leaves no token behind. */
import { describe, expect, it } from 'vitest';
import { tokenOf } from '../api/console-support.ts';
import { AUDIENCE } from '../api/support.ts';
import { useApi, usePartner } from '../api/use-api.ts';
import { useBrowser } from './support/browser.ts';

const api = useApi();
const partner = usePartner(api);

const browser = useBrowser();
const at = (path: string) => api.service.apiUrl + path;

describe.each(['light', 'dark'] as const)('in the %s theme', (theme) => {
  it('the sign-in page loads, and breaks no rule of its policy', async () => {
    const page = await browser.open({ theme });
    await page.goto(at('/console/sign-in'));
    await page.getByRole('heading', { level: 1 }).waitFor();
  });

  it('/docs renders, and breaks no rule of its policy', async () => {
    const page = await browser.open({ theme });
    await page.goto(at('/docs'));
    await page.getByRole('heading', { level: 1, name: 'headrace' }).waitFor();
    // The bundle's styles are loaded: without them the page would be as wide as its longest line.
    const font = await page.evaluate(() => getComputedStyle(document.body).fontFamily);
    expect(font).not.toBe('');
    await page.getByText('Queue an import').first().waitFor();
  });
});

describe('the policy', () => {
  it.each(['/console/sign-in', '/docs'])(
    'of %s lets neither inline script, style nor eval pass',
    async (path) => {
      const page = await browser.open({ tolerated: /CSP|Content Security Policy/ });
      await page.goto(at(path));
      const done = await page.evaluate(async () => {
        const add = (html: string) => document.body.insertAdjacentHTML('beforeend', html);
        const script = document.createElement('script');
        script.textContent = 'window.ran = true';
        document.body.append(script);
        add('<style>#styled { color: rgb(1, 2, 3) }</style><p id="styled">x</p>');
        add('<img src="data:," onerror="window.ran = true">');
        await new Promise((resolve) => document.body.lastElementChild!.addEventListener('error', resolve));
        let evaluated = true;
        try {
          // biome-ignore lint/security/noGlobalEval: it is what must not work
          globalThis.eval('1');
        } catch {
          evaluated = false;
        }
        const styled = getComputedStyle(document.getElementById('styled')!).color === 'rgb(1, 2, 3)';
        return { ran: 'ran' in window, styled, evaluated };
      });
      expect(done).toEqual({ ran: false, styled: false, evaluated: false });
    },
  );
});

describe('the deep link', () => {
  it('signs in, and the token is neither in the address nor in the history nor in the page', async () => {
    const token = await tokenOf(api, partner, 'acme');
    const body = { name: 'Summer visitors', file_path: 'a' };
    const headers = { 'x-user-token': token };
    const created = (await partner.call('POST', AUDIENCE, { body, headers })).json;
    const path = `/console/segments/${created.default_warehouse_segment_id}`;

    const page = await browser.open();
    const sent: string[] = [];
    page.on('request', (request) => sent.push(`${request.url()} ${request.headers().referer ?? ''}`));
    await page.goto(at('/health/live'));
    await page.goto(at(`${path}?token=${token}`));
    await page.getByRole('heading', { level: 1 }).waitFor();
    expect(page.url()).toBe(at(path));
    expect(await page.content()).not.toContain(token);
    expect(sent.filter((request) => request.includes(token))).toHaveLength(1);
    expect(
      await page.evaluate(() =>
        JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]),
      ),
    ).not.toContain('headrace_session');
    const session = await page.evaluate(async () => (await fetch('/console/session')).json());
    expect(session).toMatchObject({ partner_id: partner.id, customer: 'acme' });

    await page.goBack();
    expect(page.url()).toBe(at('/health/live'));
    await page.goForward();
    expect(page.url()).toBe(at(path));
  });
});
